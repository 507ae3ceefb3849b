"""Auxiliary files as units: each text file one piece, binary and huge files leaves that no rule reads."""

from __future__ import annotations

from skillsv.compile.draft import DraftUnit
from skillsv.compile.names import Names
from skillsv.compile.tree import SectionTable
from skillsv.model.skill import FileRole, Layout, Lines, Piece, PieceRole, Skill, SkillFile, Span, UnitKind

_LOOK = 8192


def resource_units(
    skill: Skill, sections: SectionTable, names: Names, place: int
) -> tuple[list[DraftUnit], list[Layout]]:
    """One unit and one layout per resource, ordered by path; places go on from `place`."""
    files = sorted(
        (file for file in skill.files if file.role is FileRole.RESOURCE), key=lambda file: file.path.split("/")
    )
    units: list[DraftUnit] = []
    layouts: list[Layout] = []
    for offset, file in enumerate(files):
        unit = _unit(file, sections, names, place + offset)
        piece = Piece(role=PieceRole.UNIT, span=unit.span, section=unit.section, unit=unit.id)
        units.append(unit)
        layouts.append(Layout(file=file.path, pieces=(piece,)))
    return units, layouts


def _unit(file: SkillFile, sections: SectionTable, names: Names, place: int) -> DraftUnit:
    binary = is_binary(file.data)
    text = "" if binary or file.data is None else _text(file.data)
    lines = Lines(1, max(text.count("\n") + (not text.endswith("\n")), 1))
    section = sections.add_file(file.path, lines.last)
    sections.mark_unit(section)
    flags = (("binary",) if binary else ()) + (("large",) if file.data is None else ())
    return DraftUnit(
        place=place,
        id=names.resource(file.path),
        kind=UnitKind.RESOURCE,
        form="binary" if binary else "text",
        file=file.path,
        span=Span(0, file.size),
        lines=lines,
        section=section,
        heading=section,
        stretch=-1 - place,
        text=text,
        flags=flags,
    )


def is_binary(data: bytes | None) -> bool:
    """Whether a file is no text: too large to look at, or with NUL bytes or much that is not UTF-8 in its beginning."""
    if data is None:
        return True
    head = data[:_LOOK]
    if b"\0" in head:
        return True
    odd = head.decode("utf-8", errors="replace").count("�")
    return odd * 20 > max(len(head), 20)


def _text(data: bytes) -> str:
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
