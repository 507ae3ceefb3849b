"""A small hand-made skill: frontmatter, two sections, a rule, resources of several kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Edge,
    Extent,
    FileRole,
    Layout,
    Leaf,
    Lines,
    Piece,
    PieceRole,
    Section,
    Skill,
    SkillFile,
    Span,
    Unit,
    UnitKind,
)

ROLES = {
    "#": PieceRole.HEADING,
    "=": PieceRole.RULE,
    "!": PieceRole.MARKER,
    "~": PieceRole.GAP,
    "^": PieceRole.BOM,
}


def cut(pieces, *, needs=(), resources=None, carried=None, parents=(None, 0), members=None):
    """A compiled skill from (name or role sign, section, bytes) triples; section 0 is the root, 1 the file, `parents` the tree.

    A name that is no role sign is a unit; the first unit is the trigger, and everything needs it.
    """
    resources, members = resources or {}, members or {}
    data = b"".join(text for _, _, text in pieces)
    layout, extents, place = [], {}, 0
    for name, section, text in pieces:
        span = Span(place, place + len(text))
        role = ROLES.get(name, PieceRole.UNIT)
        layout.append(Piece(role=role, span=span, section=section, unit=None if name in ROLES else name))
        if name not in ROLES:
            extents.setdefault(name, []).append(Extent(file="SKILL.md", span=span, lines=Lines(1, 1)))
        place += len(text)
    for path, content in resources.items():
        extents[path] = [Extent(file=path, span=Span(0, len(content or b"")), lines=Lines(1, 1))]
    trigger = next(iter(extents))
    units = tuple(
        Unit(id=name, kind=UnitKind.BLOCK, form="paragraph", extents=tuple(spans), members=members.get(name, ()))
        for name, spans in extents.items()
    )
    files = [SkillFile(path="SKILL.md", role=FileRole.MAIN, data=data, size=len(data), digest="main")]
    files += [_file(path, FileRole.RESOURCE, content) for path, content in resources.items()]
    files += [_file(path, FileRole.CARRIED, content) for path, content in (carried or {}).items()]
    pairs = [*needs, *((name, trigger) for name in extents if name != trigger)]
    return CompiledSkill(
        skill=Skill(name="toy", root=Path("toy"), main="SKILL.md", files=tuple(files)),
        options={},
        trigger=trigger,
        units=units,
        edges=tuple(Edge(rule="R0", source=source, target=target, evidence="") for source, target in pairs),
        hierarchy=Block("root", tuple(Leaf(name) for name in extents)),
        sections=tuple(
            Section(title=str(index), path=(str(index),), file="SKILL.md", level=index, parent=parent)
            for index, parent in enumerate(parents)
        ),
        layouts=(Layout(file="SKILL.md", pieces=tuple(layout)),),
    )


def _file(path, role, content):
    return SkillFile(
        path=path, role=role, data=content, size=len(content or b""), digest=path, executable=path.endswith(".sh")
    )


@pytest.fixture(scope="session")
def make():
    return cut


@pytest.fixture(scope="session")
def small():
    """m, then `# Top` with a paragraph and two items, a rule, `# Other` with one paragraph; three resources."""
    return cut(
        [
            ("m", 0, b"---\nname: toy\ndescription: A toy.\n---\n"),
            ("~", 1, b"\n"),
            ("#", 2, b"# Top\n"),
            ("~", 2, b"\n"),
            ("intro", 2, b"Read this first, it is important to know.\n"),
            ("~", 2, b"\n\n"),
            ("one", 2, b"- The first item says something.\n"),
            ("two", 2, b"- The second item\n  goes on for a while.\n"),
            ("~", 2, b"\n"),
            ("=", 1, b"---\n"),
            ("~", 1, b"\n"),
            ("#", 3, b"# Other\n"),
            ("~", 3, b"\n"),
            ("last", 3, b"The end of it all.\n"),
        ],
        needs=[("one", "intro"), ("last", "run.py")],
        resources={
            "run.py": b"import os\n\n\ndef main():\n    return os.getcwd()\n",
            "data.json": b'{\n  "a": [1, 2, 3]\n}\n',
            "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0",
        },
        carried={"LICENSE": b"Do what you like.\n"},
        parents=(None, 0, 1, 1),
    )
