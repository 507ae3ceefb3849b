"""A few words of a unit, safe to print: a skill is untrusted and may hold terminal codes, tabs or broken bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillsv.model.skill import CompiledSkill, Extent, SkillFile, Unit, UnitKind
from skillsv.report.visible import visible

_SPACES = re.compile(r"\s+")
_READ_BYTES = 2000


def printable(text: str) -> str:
    """The text on one line, with everything that could drive a terminal or break a file made visible."""
    return visible(_SPACES.sub(" ", text))


def shortened(text: str, width: int) -> str:
    """At most `width` characters, the last an ellipsis where something was cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def files_by_path(compiled: CompiledSkill) -> dict[str, SkillFile]:
    """The skill's files by relative path, for many look-ups."""
    return {file.path: file for file in compiled.skill.files}


def first_words(unit: Unit, files: Mapping[str, SkillFile], width: int = 72) -> str:
    """How the unit begins; for a resource its size, since its name says what it is."""
    file = files.get(unit.file)
    if unit.kind is UnitKind.RESOURCE:
        return "" if file is None else size_in_words(file.size)
    if not len(unit.span) and unit.kind is UnitKind.TRIGGER:
        return "(no frontmatter)"
    if file is None or file.data is None:
        return ""
    piece = file.data[unit.span.start : min(unit.span.end, unit.span.start + _READ_BYTES)]
    return shortened(printable(piece.decode("utf-8", errors="replace")).strip(), width)


def size_in_words(size: int) -> str:
    """A size in bytes as a person says it: 17.6 kB."""
    amount = float(size)
    for name in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{size} bytes" if name == "bytes" else f"{amount:.1f} {name}"
        amount /= 1000
    return f"{amount:.1f} GB"


def place(extent: Extent) -> str:
    """Where a piece lies: `SKILL.md:12` or `SKILL.md:12-15`."""
    first, last = extent.lines.first, extent.lines.last
    return f"{printable(extent.file)}:{first}" if last <= first else f"{printable(extent.file)}:{first}-{last}"
