"""`skillsv bench`: loads the command that the package of experiments adds by an entry point."""

from __future__ import annotations

from skillsv.cli.app import find_added_command
from skillsv.errors import SettingsError


def load_bench() -> object:
    """The command of the experiments."""
    command = find_added_command("bench")
    if command is None:
        raise SettingsError("`skillsv bench` is not installed here.", hint="Install the whole distribution `skillsv`.")
    return command.load()


bench_app = load_bench()
