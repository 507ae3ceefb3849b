"""Frontmatter: where it ends, and what little of it the compiler reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from skillsv.compile.markdown import LineTable
from skillsv.model.skill import Finding, Severity

_LARGEST = 65_536
"""Frontmatter beyond this many characters is kept but not parsed: nobody writes that by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What the frontmatter says. `problem` is None when it parsed; `line` is the file's line where it did not."""

    fields: dict[str, object] = field(default_factory=dict)
    problem: str | None = None
    line: int = 1


def frontmatter_end(lines: Sequence[str]) -> int:
    """The number of lines the frontmatter takes, delimiters included; 0 when there is none."""
    if not lines or lines[0] != "---":
        return 0
    for index in range(1, len(lines)):
        if lines[index] in {"---", "..."}:
            return index + 1
    return 0


def read_manifest(lines: Sequence[str]) -> Manifest:
    """The top-level keys of the frontmatter (given without its delimiters): scalars as text, lists as tuples.

    YAML is composed, never constructed: no tag runs code, and an alias is not expanded, so a bomb stays small.
    """
    import yaml

    text = "\n".join(lines)
    if len(text) > _LARGEST:
        return Manifest(problem=f"longer than {_LARGEST} characters, so it is not parsed")
    try:
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return Manifest(problem=error.problem or "not YAML", line=mark.line + 2 if mark else 1)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return Manifest(problem=str(error).splitlines()[0])
    if node is None:
        return Manifest()
    if not isinstance(node, yaml.MappingNode):
        return Manifest(problem="not a mapping of keys to values", line=2)
    return Manifest(fields={key.value: _plain(value) for key, value in node.value if isinstance(key.value, str)})


def _plain(node: object) -> object:
    value = getattr(node, "value", None)
    if isinstance(value, list):
        return tuple(item.value for item in value if isinstance(getattr(item, "value", None), str))
    return value


# Odd things seen while reading a skill that do not stop it: said once, with file and line.


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
