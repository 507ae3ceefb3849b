"""Programs and functions of the user run safely, for agents and verifiers: limits, private folders, nothing left."""

from skillsv.sandbox.process import Completed, Limits, run_program
from skillsv.sandbox.workspace import fresh_workspace, write_tree

__all__ = ["Completed", "Limits", "fresh_workspace", "run_program", "write_tree"]
