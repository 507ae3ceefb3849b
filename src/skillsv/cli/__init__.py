"""The command line: one function a command, each in the module of its name."""

from skillsv.cli.app import main, run

__all__ = ["main", "run"]
