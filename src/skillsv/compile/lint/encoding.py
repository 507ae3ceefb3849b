"""Bytes that readers and tools stumble over."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compile.lines import BOM
from skillsv.compile.lint.subject import Remark, Subject


def byte_order_mark(subject: Subject) -> Iterator[Remark]:
    """A byte order mark: some loaders then do not find the frontmatter."""
    for document in subject.documents:
        if document.table.data.startswith(BOM):
            yield Remark("The file begins with a byte order mark. Save it as UTF-8 without one.", document.path)


def mixed_line_ends(subject: Subject) -> Iterator[Remark]:
    """Two kinds of line ends in one file: diffs and edits go wrong."""
    for document in subject.documents:
        kinds = [_end_of(document.table.data, end) for end in document.table.starts[1:]]
        counts = {kind: kinds.count(kind) for kind in ("CRLF", "LF", "CR") if kind in kinds}
        if len(counts) > 1:
            rare = min(counts, key=lambda kind: counts[kind])
            found = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            words = f"Line ends are mixed ({found}; here the first {rare}). Use one kind throughout."
            yield Remark(words, document.path, kinds.index(rare) + 1)


def _end_of(data: bytes, end: int) -> str:
    if data[end - 2 : end] == b"\r\n":
        return "CRLF"
    return {b"\n": "LF", b"\r": "CR"}.get(data[end - 1 : end], "")
