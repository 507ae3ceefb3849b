"""The agent `inspect:FILE.py@task`: a task of Inspect AI answers and, if wanted, scores. Needs the extra `inspect`.

A task takes the skill as the text `{skill}` of a prompt template, or as a tool: `skill_from_sample()` is a solver that
offers Inspect's own skill tool, `skill_tools(state)` the tools alone, for agents that bring a list of their own.
"""

from skillsv.agents.inspect.agent import InspectAgent
from skillsv.agents.inspect.sample import skill_from_sample, skill_tools

__all__ = ["InspectAgent", "skill_from_sample", "skill_tools"]
