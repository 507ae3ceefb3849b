"""Positions of the Language Server Protocol: lines and columns. Columns count UTF-16 units unless agreed otherwise.

The compiler counts bytes of UTF-8. Lines end at CRLF, LF and CR, and nowhere else: `str.splitlines` also splits at form
feeds and at U+2028, which editors do not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from skillsv.model.skill import Span

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""What a column counts: bytes, UTF-16 units or code points. Client and server agree on one."""

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Position(NamedTuple):
    """A place between two characters: line and column, both counted from 0."""

    line: int
    column: int


@dataclass(frozen=True)
class Positions:
    """The positions in one text."""

    text: str
    encoding: Encoding = "utf-16"

    @cached_property
    def data(self) -> bytes:
        """The text as the compiler reads it."""
        return self.text.encode("utf-8", "replace")

    @cached_property
    def _starts(self) -> list[int]:
        """The first byte of each line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.data))]

    @property
    def lines(self) -> int:
        """The number of lines; a text that ends with a line end has an empty last line."""
        return len(self._starts)

    def of_byte(self, offset: int) -> Position:
        """The position before the byte at this offset."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._columns(self.data[self._starts[line] : offset]))

    def of_span(self, span: Span) -> tuple[Position, Position]:
        """The positions of the two ends of a span."""
        return self.of_byte(span.start), self.of_byte(span.end)

    def line_end(self, line: int) -> Position:
        """The position after the last character of a line, before its line end."""
        line = min(max(line, 0), self.lines - 1)
        return Position(line, self._columns(self._line(line)))

    def _line(self, line: int) -> bytes:
        """The bytes of a line without its line end."""
        end = self._starts[line + 1] if line + 1 < self.lines else len(self.data)
        return self.data[self._starts[line] : end].rstrip(b"\r\n")

    def _columns(self, data: bytes) -> int:
        if self.encoding == "utf-8":
            return len(data)
        text = data.decode("utf-8", "replace")
        return len(text) if self.encoding == "utf-32" else sum(1 + (character > "\uffff") for character in text)
