"""The help of one command: what it does, its arguments and its flags, as plain text.

cyclopts reads the flags; the text is written here, because its own panels take longer than everything else.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from cyclopts import App, Group

if TYPE_CHECKING:
    from cyclopts.argument import Argument

WIDEST = 100
"""Columns of the text, where the terminal has as many."""

NAMES_WIDTH = 30
"""Columns for the names of flags; the help of a longer one begins on the next line."""

PLAIN = "Parameters"
"""The group that cyclopts gives to flags without one."""

_KINDS: tuple[tuple[type, str], ...] = ((bool, ""), (Path, "PATH"), (int, "N"), (float, "NUMBER"))


def has_commands(command: App) -> bool:
    """Whether a command has commands of its own; cyclopts writes the help of these."""
    return any(not name.startswith("-") for name in command)


def write_command_help(command: App) -> str:
    """The help of a command without commands of its own."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    arguments = command.assemble_argument_collection(parse_docstring=False).filter_by(show=True)
    places = [_names(argument) for argument in arguments if argument.index is not None]
    lines = [" ".join(["Usage: skillsv", *command.name, *places, "[FLAGS]"])]
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        lines += ["", *_wrap(paragraph, width)]
    panels: dict[str, list[Argument]] = {}
    for argument in arguments:
        panels.setdefault(_panel_of(argument), []).append(argument)
    for title, members in panels.items():
        lines += ["", f"{title}:", *_describe(members, width)]
    return "\n".join(lines)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _panel_of(argument: Argument) -> str:
    """The heading below which an argument stands: the group that the flags of settings name, or a plain one."""
    named = argument.parameter.group
    groups = [named] if isinstance(named, Group | None) else list(named)
    title = next((group.name for group in groups if isinstance(group, Group)), PLAIN)
    return "Flags" if title == PLAIN else title


def _describe(members: Iterable[Argument], width: int) -> Iterator[str]:
    for argument in members:
        names = f"  {_names(argument)}"
        text = _wrap(_explain(argument), width - NAMES_WIDTH)
        if len(names) > NAMES_WIDTH - 2:
            yield names
            names = ""
        for line in text or [""]:
            yield f"{names:<{NAMES_WIDTH}}{line}".rstrip()
            names = ""


def _names(argument: Argument) -> str:
    """All names of a flag and what it takes: `--jobs, -j N`."""
    if argument.index is not None:
        return argument.name.lstrip("-").upper()
    return f"{', '.join(dict.fromkeys(argument.names))} {_kind(argument)}".rstrip()


def _kind(argument: Argument) -> str:
    if choices := argument.get_choices():
        return "|".join(choices)
    hints = list(_leaves(argument.hint))
    kind = next((kind for hint, kind in _KINDS if hint in hints), "TEXT")
    return f"{kind} ..." if _repeats(argument.hint) else kind


def _leaves(hint: Any) -> Iterator[Any]:
    """The plain types of a hint such as `tuple[str, ...] | None`."""
    inside = get_args(hint)
    if not inside:
        yield hint
    for part in inside:
        yield from _leaves(part)


def _repeats(hint: Any) -> bool:
    """Whether a flag takes several values."""
    return get_origin(hint) in {tuple, list, set, frozenset} or any(map(_repeats, get_args(hint)))


def _explain(argument: Argument) -> str:
    """The help of a flag, with the word `required` or its default where there is one."""
    text = argument.parameter.help or ""
    default = argument.field_info.default
    if argument.required:
        return f"{text} [required]"
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        return f"{text} [default: {default}]"
    return text
