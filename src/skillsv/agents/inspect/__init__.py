"""The agent `inspect:FILE.py@task`: an Inspect AI task answers and, on request, scores. Needs the extra `inspect`.

An Inspect task receives the skill as the text `{skill}` of a prompt template, or as a tool: the solver
`skill_from_sample()` offers Inspect's own skill tool; `skill_tools(state)` returns this tool as a list, for agents with
a list of tools of their own.
"""

from skillsv.agents.inspect.agent import InspectAgent
from skillsv.agents.inspect.sample import skill_from_sample, skill_tools

__all__ = ["InspectAgent", "skill_from_sample", "skill_tools"]
