"""Odd things seen while reading a skill that do not stop it: said once, with file and line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from skillsv.compile.frontmatter import Manifest
from skillsv.compile.lines import LineTable
from skillsv.model.skill import Finding, Severity


def text_findings(file: str, table: LineTable) -> Iterator[Finding]:
    """Bytes that are not UTF-8, and NUL characters."""
    for code, problem in (("not-utf8", _first_invalid(table.data)), ("nul", table.data.find(b"\0"))):
        if problem >= 0:
            what = "is not UTF-8" if code == "not-utf8" else "is a NUL character"
            yield Finding(
                code=code,
                severity=Severity.WARNING,
                message=f"Byte {problem} {what}; it is kept as it is. Save the file as plain UTF-8 text.",
                file=file,
                line=_line_of(table, problem),
            )


def manifest_findings(file: str, manifest: Manifest, *, present: bool) -> Iterator[Finding]:
    """Frontmatter that is missing or does not parse."""
    if not present:
        yield Finding(
            code="no-frontmatter",
            severity=Severity.NOTE,
            message="There is no frontmatter, so the trigger m is virtual: zero bytes, value zero.",
            file=file,
        )
    elif manifest.problem:
        yield Finding(
            code="frontmatter-yaml",
            severity=Severity.WARNING,
            message=f"The frontmatter is kept but cannot be read as YAML: {manifest.problem}.",
            file=file,
            line=manifest.line,
        )


def _first_invalid(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _line_of(table: LineTable, offset: int) -> int:
    return max(bisect_right(table.starts, offset), 1)
