"""Repairs of defects that are mechanical: the text says the same, and Markdown reads it as it was meant.

Every repair is of a check with `fixable` in `checks.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from skillsv.compiler.lint.files import line_end
from skillsv.compiler.lint.markdown import HEADING_IN_LINE, HEADING_WITHOUT_SPACE, TEXT_FORMS
from skillsv.compiler.lint.subject import Document, Subject
from skillsv.compiler.markdown import BOM, is_glued_rule
from skillsv.compiler.references import without_code_spans
from skillsv.model.skill import CompiledSkill

_LINE_ENDS = {"CRLF": b"\r\n", "LF": b"\n", "CR": b"\r"}
_ANY_LINE_END = re.compile(rb"\r\n|\n|\r")


class _Insertion(NamedTuple):
    """Bytes to insert at an offset of a file."""

    offset: int
    data: bytes


def fixed_files(compiled: CompiledSkill, ignore: frozenset[str] = frozenset()) -> dict[str, bytes]:
    """The Markdown files that repairs change, by path, with their new bytes. Codes to `ignore` are not repaired."""
    files: dict[str, bytes] = {}
    for document in Subject(compiled=compiled).documents:
        data = _fix(document, ignore)
        if data != document.table.data:
            files[document.path] = data
    return files


def _fix(document: Document, ignore: frozenset[str]) -> bytes:
    data = document.table.data
    usual = _usual_line_end(document)
    repairs = {
        "heading-space": _heading_spaces(document),
        "glued-heading": _glued_headings(document, usual),
        "accidental-heading": _glued_rules(document, usual),
    }
    insertions = [found for code, repair in repairs.items() if code not in ignore for found in repair]
    for insertion in sorted(set(insertions), reverse=True):
        data = data[: insertion.offset] + insertion.data + data[insertion.offset :]
    if "mixed-line-ends" not in ignore:
        data = _ANY_LINE_END.sub(usual, data)
    return data if "byte-order-mark" in ignore else data.removeprefix(BOM)


def _usual_line_end(document: Document) -> bytes:
    """The line end that most lines of the file have."""
    kinds = [line_end(document.table.data, end) for end in document.table.starts[1:]]
    return _LINE_ENDS[max(_LINE_ENDS, key=lambda kind: (kinds.count(kind), kind == "LF"))]


def _heading_spaces(document: Document) -> Iterator[_Insertion]:
    """`##Title` gets its space."""
    for number, line in document.prose:
        match = HEADING_WITHOUT_SPACE.fullmatch(line)
        if match:
            yield _Insertion(document.table.starts[number - 1] + match.end(1), b" ")


def _glued_headings(document: Document, end: bytes) -> Iterator[_Insertion]:
    """A heading at the end of a line, or right below text, gets a line of its own."""
    for number, line in document.prose:
        match = HEADING_IN_LINE.search(without_code_spans(line)) if "## " in line else None
        if match and "\ufffd" not in line:
            offset = len(line[: match.start(1)].encode("utf-8", errors="surrogateescape"))
            yield _Insertion(document.table.starts[number - 1] + offset, end * 2)
    for before, block in pairwise(document.blocks):
        if block.form == "heading" and before.stop == block.first and before.form in TEXT_FORMS:
            yield _Insertion(document.table.starts[block.first], end)


def _glued_rules(document: Document, end: bytes) -> Iterator[_Insertion]:
    """A rule right below text, which CommonMark reads as a heading, gets a blank line."""
    for before, block in pairwise(document.blocks):
        if is_glued_rule(before, block, document.lines):
            yield _Insertion(document.table.starts[block.first], end)
