"""`skillsv bench`: the experiments are a package of their own, found by an entry point."""

from __future__ import annotations

from importlib.metadata import entry_points

from skillsv.errors import SettingsError

COMMANDS = "skillsv.commands"
"""Entry points of packages that add commands."""


def find_command(name: str) -> object:
    """The command that an installed package adds under this name."""
    for point in entry_points(group=COMMANDS, name=name):
        return point.load()
    raise SettingsError(f"`skillsv {name}` is not installed here.", hint="Install the whole distribution `skillsv`.")


bench_app = find_command("bench")
