"""Run programs that a model wrote, or programs of a benchmark: with limits, without network, secrets or home.

`find_sandbox_problem` says why there is no sandbox on this machine. `convert_disk_errors` turns errors of the disk into
failures of the infrastructure, which are never scored.
"""

from skillsv.sandbox.bubblewrap import find_sandbox_problem, run_sandboxed, sandbox_python
from skillsv.sandbox.folders import remove_folder
from skillsv.sandbox.process import Limits, ProgramResult, private_environment, run_program
from skillsv.sandbox.sandbox_options import SANDBOX_LIMITS, SandboxOptions
from skillsv.sandbox.workspace import convert_disk_errors, write_tree

__all__ = [
    "SANDBOX_LIMITS",
    "Limits",
    "ProgramResult",
    "SandboxOptions",
    "convert_disk_errors",
    "find_sandbox_problem",
    "private_environment",
    "remove_folder",
    "run_program",
    "run_sandboxed",
    "sandbox_python",
    "write_tree",
]
