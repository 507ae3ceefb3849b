"""Text from strangers made safe to show: controls that could drive a terminal or reorder a line become visible."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillsv.model.skill import CompiledSkill, Extent, SkillFile, Unit, UnitKind

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_INVALID = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}{_INVALID}]")


def escape_text(text: str) -> str:
    """The text with every control character but tab and newline shown as a symbol, so that it acts on nothing.

    Carriage returns before a newline are dropped: they end a line, they do not overwrite one.
    """
    return _HIDDEN.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def clip(text: str, limit: int) -> str:
    """The text, or its beginning and how much is not shown."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def clip_lines(text: str, *, width: int, lines: int) -> str:
    """The text with overlong lines and overlong files cut, and said to be cut."""
    rows = text.split("\n")
    shown = [clip(row, width) for row in rows[:lines]]
    return "\n".join([*shown, f"… ({len(rows) - lines:,} more lines)"] if len(rows) > lines else shown)


# A few words of a unit, safe to print: a skill is untrusted and may hold terminal codes, tabs or broken bytes.

_SPACES = re.compile(r"\s+")
_READ_BYTES = 2000


def escape_line(text: str) -> str:
    """The text on one line, with everything that could drive a terminal or break a file made visible."""
    return escape_text(_SPACES.sub(" ", text))


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
    return shortened(escape_line(piece.decode("utf-8", errors="replace")).strip(), width)


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
    return f"{escape_line(extent.file)}:{first}" if last <= first else f"{escape_line(extent.file)}:{first}-{last}"
