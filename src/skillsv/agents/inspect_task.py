"""The former path of `skillsv.agents.inspect`, kept because Inspect task files of users import from it.

Earlier documentation told users to write `from skillsv.agents.inspect_task import skill_from_sample, skill_tools`. New
files import both names from `skillsv.agents.inspect`.
"""

from skillsv.agents.inspect import skill_from_sample, skill_tools

__all__ = ["skill_from_sample", "skill_tools"]
