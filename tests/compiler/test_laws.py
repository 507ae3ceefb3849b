"""Properties of every compiled skill: no byte is lost, D is a DAG, blocks are contiguous, output is reproducible."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler import CompileOptions, compile_files, compile_skill
from skillsv.model.skill import Block, CompiledSkill, Leaf, PieceRole, UnitKind

_PARTS = [
    *["# One", "## Two words here", "### Deep section", "## Two words here", "Title\n===", "---", "***", "#"],
    *["Title\n-----", "Two lines\nof text.\n---", "One sentence.\n---", "Lead:\n2. b\n3. c\n  ----  ", "a\nb\n=="],
    *["- a", "- b:", "1. step", "2. step:", "* star", "  nested", "text:", "**bold:**", "plain text", "lazy"],
    *["See [x](#one) and [y](#two-words-here-1).", "See [d](#deep-section).", "[r](references/a.md)", "[r]: b.md"],
    *["As in Two words here.", "Read Deep section.", "`LIMIT`", "`load()`", "scripts/run.py", "examples/e.md"],
    *["```python\nLIMIT = 1\ndef load(): ...\n```", "```python\nload(LIMIT)\n```", "```sh\nX_Y=1\n```", "```", "~~~"],
    *["| a | b |\n|---|---|", "| 1 | 2 |", "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->", "<!-- x"],
    *["<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->", "-->", "> quote", "\tcode", "é\u2028ü", "\0", "", "", ""],
]
_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
_LINES = st.lists(st.tuples(st.sampled_from(_PARTS), _ENDS), max_size=40)
_TEXT = _LINES.map(lambda lines: "".join(part + end for part, end in lines))
_MAIN = st.builds(
    lambda bom, front, body, tail: (bom + front + body + tail) or "x",
    st.sampled_from(["", "", "\ufeff"]),
    st.sampled_from(["", "---\nname: a\n---\n", "---\nname: [\n...\n", "---\n"]),
    _TEXT,
    st.sampled_from(["", "no end"]),
)
_FILES = st.fixed_dictionaries(
    {"SKILL.md": _MAIN.map(str.encode) | st.binary(min_size=1, max_size=60)},
    optional={
        "references/a.md": _TEXT,
        "references/b.md": _TEXT,
        "scripts/run.py": st.sampled_from(["import tools\nLIMIT = 2\n", "def load(): pass\n", "(", ""]),
        "scripts/tools.py": st.sampled_from(["from run import LIMIT\n", "X = 1\n"]),
        "examples/e.md": _TEXT,
        "blob.bin": st.binary(max_size=20),
    },
)
_OPTIONS = st.builds(
    CompileOptions,
    granularity=st.sampled_from(["block", "group", "section"]),
    rules_version=st.sampled_from(["1", "2"]),
    inside=st.sampled_from(["auto", "references", "main"]),
    regions=st.sampled_from(["atomic", "split"]),
)


@pytest.mark.heavy
@given(_FILES, _OPTIONS)
@settings(max_examples=300, deadline=None)
def test_the_laws_hold_for_any_input(make_skill, files, options):
    check_laws(compile_files(make_skill(files), options))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("granularity", "regions", "inside"),
    [
        ("block", "atomic", "auto"),
        ("block", "split", "main"),
        ("group", "atomic", "references"),
        ("section", "split", "references"),
    ],
)
def test_the_laws_hold_on_every_skill_of_the_corpus(corpus, granularity, regions, inside):
    for folder in corpus:
        check_laws(compile_skill(folder, CompileOptions(granularity=granularity, regions=regions, inside=inside)))


def check_laws(skill: CompiledSkill) -> None:
    pieces_make_up_the_files(skill)
    units_and_pieces_agree(skill)
    edges_form_a_dag_with_m_at_the_bottom(skill)
    sections_are_a_tree(skill)
    assert sorted(_leaves(skill.hierarchy)) == sorted(skill.unit)
    pointers_lead_to_units(skill)
    repaired_quotients_are_acyclic(skill)


def pieces_make_up_the_files(skill):
    for layout in skill.layouts:
        data = skill.skill.file(layout.file).data
        assert b"".join(data[piece.span.start : piece.span.end] for piece in layout.pieces) == data
        assert all(len(piece.span) for piece in layout.pieces) or not data
        for piece in layout.pieces:
            if piece.role is PieceRole.GAP:
                assert not data[piece.span.start : piece.span.end].strip(b" \t\r\n")


def units_and_pieces_agree(skill):
    placed = {}
    for layout in skill.layouts:
        for piece in layout.pieces:
            if piece.unit is not None:
                placed.setdefault(piece.unit, []).append((layout.file, piece.span))
            assert (piece.unit is not None) == (piece.role is PieceRole.UNIT)
    for unit in skill.units:
        spans = [(extent.file, extent.span) for extent in unit.extents]
        assert placed.pop(unit.id, [(unit.file, unit.span)] if "virtual" in unit.flags else None) == spans
        data = skill.skill.file(unit.file).data
        assert unit.id.isascii()
        assert not set(unit.id) & set(" ,'\"\\$`;&|<>*?(){}[]!#~\t\n")
        before = data[: unit.span.start].removeprefix(b"\xef\xbb\xbf")
        if unit.kind not in {UnitKind.TRIGGER, UnitKind.RESOURCE, UnitKind.COMPOSITE}:
            assert unit.lines.first == before.count(b"\n") + before.replace(b"\r\n", b"").count(b"\r") + 1
    assert not placed
    assert skill.units[0].id == skill.trigger


def pointers_lead_to_units(skill):
    """Files that are cut hold units that are no resources, and all that lead to them are units of other files."""
    for path, pointers in skill.pointers.items():
        inside = [unit for unit in skill.units if any(extent.file == path for extent in unit.extents)]
        assert inside
        assert all(unit.kind is not UnitKind.RESOURCE for unit in inside)
        assert set(pointers) <= set(skill.unit)


def edges_form_a_dag_with_m_at_the_bottom(skill):
    TopologicalSorter({unit: list(needs) for unit, needs in skill.needs.items()}).prepare()
    assert not skill.needs[skill.trigger]
    assert all(skill.trigger in skill.needs[unit] for unit in skill.execution)
    assert all(edge.evidence and edge.at and edge.target_at for edge in skill.edges)


def sections_are_a_tree(skill):
    assert skill.sections[0].parent is None
    for index, section in enumerate(skill.sections[1:], start=1):
        assert section.parent < index
    populated = set()
    for layout in skill.layouts:
        for piece in layout.pieces:
            node = piece.section if piece.unit else None
            while node is not None:
                populated.add(node)
                node = skill.sections[node].parent
    scaffold = {PieceRole.HEADING, PieceRole.RULE, PieceRole.MARKER}
    named = {piece.section for layout in skill.layouts for piece in layout.pieces if piece.role in scaffold}
    assert named <= populated | {0}


def repaired_quotients_are_acyclic(skill):
    """At every node of the hierarchy, the children can be ordered so that each comes after what it needs."""
    for block in _blocks(skill.hierarchy):
        owner = {unit: index for index, child in enumerate(block.children) for unit in _leaves(child)}
        arcs = {index: set() for index in range(len(block.children))}
        for edge in skill.edges:
            if edge.source in owner and edge.target in owner and owner[edge.source] != owner[edge.target]:
                arcs[owner[edge.source]].add(owner[edge.target])
        TopologicalSorter(arcs).prepare()


def _leaves(node: Block | Leaf):
    if isinstance(node, Leaf):
        yield node.unit
    else:
        for child in node.children:
            yield from _leaves(child)


def _blocks(node: Block | Leaf):
    if isinstance(node, Block):
        yield node
        for child in node.children:
            yield from _blocks(child)


@given(_FILES, _OPTIONS)
@settings(max_examples=30, deadline=None)
def test_the_same_input_gives_the_same_output(make_skill, files, options):
    assert repr(compile_files(make_skill(files), options)) == repr(compile_files(make_skill(files), options))


_PRINT = """
import hashlib, sys
from pathlib import Path
from skillsv.compiler import compile_skill
for folder in sys.argv[1:]:
    print(hashlib.sha256(repr(compile_skill(Path(folder))).encode()).hexdigest())
"""


def _under_seed(seed: str, folders: list[Path]) -> str:
    program = [sys.executable, "-c", _PRINT, *map(str, folders)]
    return subprocess.run(program, env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True).stdout


def test_different_hash_seeds_give_the_same_output(tmp_path):
    folder = tmp_path / "demo"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "# A one\n\n[b](#b-two) [g](references/g.md)\n\n### A two\n\nx:\n\n- y\n\n# B one\n\n[a](#a-two)\n\n### B two\n\nz\n"
    )
    (folder / "references/g.md").write_text("See h.md")
    (folder / "references/h.md").write_text("See g.md")
    assert _under_seed("1", [folder]) == _under_seed("2", [folder])


@pytest.mark.heavy
def test_different_hash_seeds_give_the_same_output_on_the_corpus(corpus):
    assert _under_seed("3", corpus) == _under_seed("4", corpus)


def test_the_digest_depends_on_bytes_paths_run_bits_and_options(make_skill):
    skill = make_skill({"SKILL.md": "a", "x.md": "b"})
    files = [replace(file, executable=True) for file in skill.files]
    digests = {
        compile_files(skill).digest,
        compile_files(replace(skill, files=tuple(files))).digest,
        compile_files(skill, CompileOptions(regions="split")).digest,
        compile_files(make_skill({"SKILL.md": "a", "x.md": "c"})).digest,
        compile_files(make_skill({"SKILL.md": "a", "y.md": "b"})).digest,
    }
    assert len(digests) == 5
    assert all(len(digest) == hashlib.sha256().digest_size * 2 for digest in digests)


def test_the_digest_tells_how_text_above_dashes_is_cut(make_skill):
    glued, plain = make_skill({"SKILL.md": "one\ntwo\n---\n"}), make_skill({"SKILL.md": "Title\n---\n\ntext\n"})
    earlier = CompileOptions(underlined="heading")
    assert compile_files(glued).digest != compile_files(glued, earlier).digest
    assert compile_files(plain).digest == compile_files(plain, earlier).digest
    assert compile_files(glued).options["underlined"] == "text"
    assert "underlined" not in compile_files(plain).options
