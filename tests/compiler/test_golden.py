"""Golden files in Markdown: a title, a skill, and the expected output of the compiler.

The input may hold several files (`=== path`), an options line (`--- granularity=group`), and characters that an editor
would hide: ⟦CR⟧ ⟦TAB⟧ ⟦NUL⟧ ⟦BOM⟧ ⟦LS⟧ ⟦FF⟧ (a byte that is not UTF-8) and ⟦NOEOL⟧ at the very end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from skillsv.model.skill import CompiledSkill, Piece, PieceRole, UnitKind

_FOLDER = Path(__file__).parent / "golden"
_HIDDEN = {
    "⟦CR⟧\n": b"\r",
    "⟦CRLF⟧\n": b"\r\n",
    "⟦TAB⟧": b"\t",
    "⟦NUL⟧": b"\0",
    "⟦BOM⟧": b"\xef\xbb\xbf",
    "⟦LS⟧": "\u2028".encode(),
    "⟦FF⟧": b"\xff",
    "⟦NOEOL⟧\n": b"",
}


def _cases():
    for path in sorted(_FOLDER.glob("*.md")):
        parts = path.read_text(encoding="utf-8").split("\n.\n")
        assert len(parts) % 3 == 1, path
        for title, given, expected in zip(parts[0::3], parts[1::3], parts[2::3], strict=False):
            yield pytest.param(given, expected, id=f"{path.stem}: {title.strip()}")


def _files(given: str) -> tuple[dict[str, bytes], dict[str, object]]:
    options: dict[str, object] = {}
    texts: dict[str, str] = {}
    name = "SKILL.md"
    for line in f"{given}\n".splitlines(keepends=True):
        if line.startswith("--- ") and "=" in line:
            key, value = line[4:].strip().split("=")
            options[key] = frozenset(value.split(",")) if key == "without" else value
        elif line.startswith("=== "):
            name = line[4:].strip()
        else:
            texts[name] = texts.get(name, "") + line
    files = {}
    for path, text in texts.items():
        data = text.encode()
        for shown, hidden in _HIDDEN.items():
            data = data.replace(shown.encode(), hidden)
        files[path] = data
    return files, options


def _place(skill: CompiledSkill, name: str) -> str:
    unit = skill.unit[name]
    if unit.kind is UnitKind.TRIGGER:
        return "m"
    if unit.kind is UnitKind.RESOURCE:
        return unit.file
    return f"{unit.lines.first}" if unit.file == skill.skill.main else f"{unit.file}:{unit.lines.first}"


def _piece(skill: CompiledSkill, piece: Piece, file: str) -> str:
    data = skill.skill.file(file).data
    size = f"{len(piece.span)} bytes"
    section = " / ".join(skill.sections[piece.section].path[1:])
    where = f" [{section}]" if section and piece.role is not PieceRole.GAP else ""
    if piece.unit is None:
        return f"{piece.role} {size}{where}"
    unit = skill.unit[piece.unit]
    first = data[piece.span.start : piece.span.end].decode(errors="replace").splitlines()[0][:40].strip()
    flags = "".join(f" !{flag}" for flag in unit.flags if flag != "protected")
    return f"{unit.kind} {unit.form} {size}{where}{flags} {first}"


def _described(skill: CompiledSkill) -> str:
    main = skill.skill.main
    lines = [_piece(skill, piece, main) for piece in skill.layouts[0].pieces]
    lines += [
        f"{layout.file}: {_piece(skill, piece, layout.file)}"
        for layout in skill.layouts
        if layout.file in skill.pointers
        for piece in layout.pieces
    ]
    lines += [
        f"{unit.kind} {unit.file}{''.join(f' !{flag}' for flag in unit.flags)}"
        for unit in skill.units
        if unit.kind is UnitKind.RESOURCE
    ]
    lines += [
        f"{edge.rule} {_place(skill, edge.source)} -> {_place(skill, edge.target)}: {edge.evidence}"
        for edge in skill.edges
        if edge.rule != "R6"
    ]
    lines += [
        f"contracted by {','.join(contraction.rules)}: {len(contraction.members)} members"
        for contraction in skill.contractions
    ]
    lines += [f"repaired {repair.node}: {repair.expanded} by {','.join(repair.rules)}" for repair in skill.repairs]
    lines += [
        f"{finding.severity} {finding.file}:{finding.line} {finding.code}"
        for finding in skill.findings
        if finding.code != "no-frontmatter"
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(("given", "expected"), list(_cases()))
def test_the_compiler_gives_the_expected_output(given, expected, compiled):
    files, options = _files(given)
    assert _described(compiled(files, **options)) == expected
