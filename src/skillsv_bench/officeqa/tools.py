"""The three tools of the protocol, limited to the documents of one question, and a reader of tables in them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skillsv_bench.conversation import Tool, ToolCall

MAX_HITS = 50
"""Names that `glob` returns at most."""

MAX_CHARACTERS = 4_000
"""Characters that `read` returns at most, and `grep` of one line."""

MAX_LINES = 20
"""Lines that `grep` returns at most."""

_SCALE = {"thousands": Decimal(1_000), "millions": Decimal(1_000_000), "billions": Decimal(1_000_000_000)}
_UNIT = re.compile(r"\bin (thousands|millions|billions)\b", re.IGNORECASE)


class Glob(msgspec.Struct):
    """Find documents by a pattern of their names, such as `*1954*`."""

    pattern: str


class Read(msgspec.Struct):
    """Read some lines of a document: `limit` lines from line `start` on."""

    path: str
    start: Annotated[int, Meta(ge=1)] = 1
    limit: Annotated[int, Meta(ge=1)] = 80


class Grep(msgspec.Struct):
    """Find the lines of a document that hold a literal text. Upper and lower case are the same."""

    literal: Annotated[str, Meta(min_length=1)]
    path: str


class ToolError(Exception):
    """A tool call failed; the client gets the reason and can go on."""


class DocumentStore:
    """The documents of one question by name. No other file can be read, whatever name a client writes."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def call(self, call: ToolCall) -> str:
        """Run a tool call and return its output; an error is returned as text, too."""
        if call.error:
            return f"error: {call.error}"
        if call.tool not in _TOOL_TABLE:
            return f"error: there is no tool {call.tool}. There are: {', '.join(_TOOL_TABLE)}."
        arguments, action = _TOOL_TABLE[call.tool]
        try:
            wanted = msgspec.convert(dict(call.arguments), type=arguments, strict=False)
            return action(self, wanted)
        except msgspec.ValidationError as error:
            return f"error: the arguments of {call.tool} cannot be used: {error}."
        except ToolError as error:
            return f"error: {error}"

    def glob(self, wanted: Glob) -> str:
        """The names that fit, at most 50."""
        found = [name for name in self._files if fnmatchcase(name.casefold(), wanted.pattern.casefold())]
        return "\n".join(found[:MAX_HITS]) or "no document has such a name"

    def read(self, wanted: Read) -> str:
        """A window of lines, at most 4,000 characters."""
        lines = self._text(wanted.path).splitlines(keepends=True)
        shown = "".join(lines[wanted.start - 1 : wanted.start - 1 + wanted.limit])
        return shown[:MAX_CHARACTERS] or f"nothing: the document has {len(lines)} lines"

    def grep(self, wanted: Grep) -> str:
        """The lines that hold the text, with their numbers, at most 20."""
        literal = wanted.literal.casefold()
        lines = enumerate(self._text(wanted.path).splitlines(), start=1)
        found = [f"{number}: {line.rstrip()[:MAX_CHARACTERS]}" for number, line in lines if literal in line.casefold()]
        return "\n".join(found[:MAX_LINES]) or "no line holds this text"

    def _text(self, name: str) -> str:
        path = self._files.get(name)
        if path is None:
            raise ToolError(f"there is no document {name!r}; glob lists them.")
        try:
            # A document is a plain file: no link that appeared since is followed, no pipe is waited for.
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror}.") from None
        with os.fdopen(number, "rb") as stream:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise ToolError(f"{name} is not a file.")
            return stream.read().decode("utf-8", errors="replace")


_TOOL_TABLE: Mapping[str, tuple[type[msgspec.Struct], Callable[[DocumentStore, Any], str]]] = {
    "glob": (Glob, DocumentStore.glob),
    "read": (Read, DocumentStore.read),
    "grep": (Grep, DocumentStore.grep),
}


def _describe_tool(name: str, arguments: type[msgspec.Struct]) -> Tool:
    _, parts = msgspec.json.schema_components([arguments])
    schema = {key: value for key, value in parts[arguments.__name__].items() if key not in {"title", "description"}}
    return Tool(name=name, description=arguments.__doc__ or "", parameters=schema)


TOOLS = tuple(_describe_tool(name, arguments) for name, (arguments, _) in _TOOL_TABLE.items())
"""The tools as they are described to a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row of a table: its figures in the order of the columns, and by the year that a column is headed with."""

    row: str
    fiscal: bool
    scale: Decimal
    values: tuple[Decimal, ...]
    by_year: Mapping[str, Decimal]


def scale_of(text: str) -> Decimal:
    """What a figure counts: `in millions of ...` is a million, no such words are one."""
    found = _UNIT.search(text)
    return _SCALE[found.group(1).lower()] if found else Decimal(1)


def read_table_row(lines: Sequence[str]) -> TableRow | None:
    """The row on the last line, with the header and the title that stand above it; None where it is no row."""
    row = _cells(lines[-1]) if lines else []
    top = len(lines) - 1
    while top > 0 and lines[top - 1].startswith("|"):
        top -= 1
    if not row or top == len(lines) - 1:
        return None
    title = next((line for line in reversed(lines[:top]) if line.strip()), "")
    cells = list(zip(_cells(lines[top])[1:], map(_figure, row[1:]), strict=False))  # a short row ends early
    return TableRow(
        row=row[0],
        fiscal="fiscal year" in title.lower(),
        scale=scale_of(title),
        values=tuple(value for _, value in cells if value is not None),
        by_year={year: value for year, value in cells if value is not None},
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def _figure(cell: str) -> Decimal | None:
    try:
        return Decimal(cell.replace(",", ""))
    except InvalidOperation:
        return None
