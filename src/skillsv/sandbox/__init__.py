"""Runs programs and functions for agents and verifiers: with limits, in private folders, with nothing left running.

Start with `process.py` (one program with limits), `bubblewrap.py` (one program in a sandbox) and `workspace.py` (the
folder of one rollout).
"""

from skillsv.sandbox.process import Limits, run_program
from skillsv.sandbox.workspace import fresh_workspace, write_tree

__all__ = ["Limits", "fresh_workspace", "run_program", "write_tree"]
