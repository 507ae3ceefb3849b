"""`skillsv bench`: loads the command that the package of experiments adds by an entry point."""

from __future__ import annotations

from importlib.metadata import entry_points

from skillsv.errors import SettingsError

ENTRY_POINTS = "skillsv.commands"
"""The group of entry points by which packages add commands."""


def find_command(name: str) -> object:
    """The command that an installed package adds under this name."""
    for point in entry_points(group=ENTRY_POINTS, name=name):
        return point.load()
    raise SettingsError(f"`skillsv {name}` is not installed here.", hint="Install the whole distribution `skillsv`.")


bench_app = find_command("bench")
