"""Lines of a file by bytes: cut at CRLF, LF and CR only, the way Markdown does, never elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTable:
    """A file cut into lines.

    `starts` has one entry more than there are lines: the length of the file. `texts` are the lines decoded, without
    their ends; bytes that are not UTF-8 are replaced there (and only there: `data` stays as it is).
    """

    data: bytes
    starts: tuple[int, ...]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def cut_lines(data: bytes) -> LineTable:
    """The lines of a file; a byte order mark is part of none of them."""
    first = len(BOM) if data.startswith(BOM) else 0
    ends = [match.end() for match in _LINE_END.finditer(data, first)]
    starts = [first, *ends]
    if starts[-1] != len(data):
        starts.append(len(data))
    text = data[first:].decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    texts = text.replace("\0", "�").split("\n")
    return LineTable(data=data, starts=tuple(starts), texts=tuple(texts[: len(starts) - 1]))
