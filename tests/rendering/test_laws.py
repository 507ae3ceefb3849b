"""Laws of rendering for random coalitions, on a corpus of public skills and on generated Markdown."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler import CompileOptions, compile_files, compile_skill
from skillsv.model.coalition import Operator
from skillsv.model.skill import FileRole, PieceRole, Skill, SkillFile
from skillsv.order import Sampler
from skillsv.rendering import FILLERS, Renderer, token_counter
from skillsv.rendering.document import join_parts

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
DELETE, PAD = Operator.DELETE, Operator.PAD
COUNT = token_counter("o200k")
FILLER = re.compile(rb"(?m)^ {0,3}(?:[-*+]|\d{1,9}[.)])| blank|[ .\s]")


def corpus():
    if not CORPUS.is_dir():
        return []
    return sorted({path.parent for path in CORPUS.rglob("SKILL.md")})


def tokens(data):
    return COUNT(data.decode("utf-8", errors="replace"))


def random_coalitions(compiled, rng, count):
    """Prefixes of sampled orders, and closures of random sets of units."""
    sampler = Sampler(compiled)
    for number in range(count):
        if number % 2:
            order = sampler.sample(rng)
            yield frozenset(order[: int(rng.integers(1, len(order) + 1))])
        else:
            share = rng.random()
            yield compiled.closure(
                frozenset({compiled.trigger, *(u for u in compiled.execution if rng.random() < share)})
            )


def survival(compiled, kept, path=None):
    """The pieces of a file, and whether they survive by the paper's rule; a title also with what leads to its file."""
    path = path or compiled.skill.main
    layout = next(layout for layout in compiled.layouts if layout.file == path)
    data = compiled.skill.file(path).data
    led_to = any(unit in kept for unit in compiled.pointers.get(path, ()))
    in_title = True
    homes = [
        (0 if piece.unit == compiled.trigger else piece.section, piece.unit)
        for other in compiled.layouts
        for piece in other.pieces
        if piece.unit is not None
    ]

    def under(section, above):
        while section is not None and section != above:
            section = compiled.sections[section].parent
        return section == above

    for piece in layout.pieces:
        in_title = in_title and piece.unit is None
        text = data[piece.span.start : piece.span.end]
        if piece.role is PieceRole.GAP:
            continue
        if piece.role is PieceRole.UNIT:
            survives = piece.unit in kept
        elif piece.role is PieceRole.BOM:
            survives = True
        else:
            survives = any(unit in kept and under(home, piece.section) for home, unit in homes)
            survives = survives or (led_to and in_title and piece.role is PieceRole.HEADING)
        yield text, survives


def assert_only_blanks_between(data, alive):
    """The data is the surviving pieces in order, with only blank lines around them."""
    place = 0
    for text in alive:
        found = data.index(text, place)
        assert not data[place:found].strip()
        place = found + len(text)
    assert not data[place:].strip()


def assert_only_filler_between(data, alive):
    """The data is the surviving pieces in order, with only filler around them."""
    place = 0
    for text in alive:
        found = data.index(text, place)
        assert not FILLER.sub(b"", data[place:found])
        place = found + len(text)
    assert not FILLER.sub(b"", data[place:])


def check_laws(compiled, renderer, kept):
    main = compiled.skill.main
    original = compiled.skill.file(main).data
    pieces = list(survival(compiled, kept))
    alive = [text for text, survives in pieces if survives and text]
    whole = {main, *compiled.pointers}
    owner = {extent.file: unit.id for unit in compiled.units for extent in unit.extents if extent.file not in whole}

    gone = renderer.render(kept, DELETE)
    check_documents(compiled, renderer, kept)
    if gone.empty:
        assert not b"".join(alive)
        assert not owner.keys() & {path for path, unit in owner.items() if unit in kept}
    else:
        assert_only_blanks_between(gone.contents[main], alive)
        assert {file.path for file in gone.files} == {
            file.path
            for file in compiled.skill.files
            if (file.path not in owner or owner[file.path] in kept)
            and (file.path not in compiled.pointers or is_there(compiled, kept, file.path))
        }

    filled = renderer.render(kept, PAD)
    assert_only_filler_between(filled.contents[main], alive)
    assert tokens(filled.contents[main]) == tokens(original) == filled.tokens
    for file in filled.files:
        source = compiled.skill.file(file.path)
        assert file.executable == source.executable
        if file.path in owner and owner[file.path] not in kept:
            assert tokens(file.data) == tokens(source.data)
            assert_harmless(file.path, file.data)
        elif file.path not in whole:
            assert file.data == source.data
    absent = {file.path for file in compiled.skill.files} - {file.path for file in filled.files}
    assert {owner[path] for path in absent} == {
        flag.partition(":")[2] for flag in filled.flags if flag.startswith("deleted-instead")
    }


def is_there(compiled, kept, path):
    """Whether a file that is cut holds a unit of the coalition, or one of its units leads to it."""
    inside = {unit.id for unit in compiled.units if any(extent.file == path for extent in unit.extents)}
    return bool(kept & (inside | set(compiled.pointers[path])))


def check_documents(compiled, renderer, kept):
    """The files that are cut: only their own slices, the same number of tokens, and no reference to a missing file."""
    gone, filled = renderer.render(kept, DELETE), renderer.render(kept, PAD)
    exact = not any(flag.startswith("padding-off-by") for flag in filled.flags)
    for path in compiled.pointers:
        alive = [text for text, survives in survival(compiled, kept, path) if survives and text]
        if is_there(compiled, kept, path) and not gone.empty:
            assert_only_blanks_between(gone.contents[path], alive)
        else:
            assert path not in gone.contents
        if not filled.empty:
            assert not exact or tokens(filled.contents[path]) == tokens(compiled.skill.file(path).data)
        if is_there(compiled, kept, path) and not filled.empty:
            assert_only_filler_between(filled.contents[path], alive)


def assert_harmless(path, data):
    """Assert that a padded file can be loaded and does nothing."""
    text = data.decode()
    match Path(path).suffix.lower():
        case ".py":
            names = {}
            exec(compile(text, path, "exec"), names)
            assert set(names) == {"__builtins__"}
        case ".json":
            assert isinstance(json.loads(text), list)
        case ".yaml" | ".yml":
            assert yaml.safe_load(text) is None
        case ".toml":
            assert tomllib.loads(text) == {}
        case ".xml" | ".svg" | ".xsd":
            ET.fromstring(text)


@pytest.mark.heavy
@pytest.mark.skipif(not corpus(), reason="the corpus of public skills is not beside the repository")
@pytest.mark.parametrize("part", range(8))
def test_laws_on_the_corpus(part):
    for folder in corpus()[part::8]:
        rng = np.random.default_rng(int(hashlib.sha256(folder.name.encode()).hexdigest()[:8], 16))
        compiled = compile_skill(folder, CompileOptions())
        renderer = Renderer(compiled, counter=COUNT)
        full = [renderer.render(compiled.everything, operator) for operator in Operator]
        for rendering in full:
            assert {file.path: file.data for file in rendering.files} == {
                file.path: file.data for file in compiled.skill.files
            }
            assert not rendering.flags
        assert full[0].digest == full[1].digest
        assert renderer.render(frozenset(), PAD).empty
        trigger = renderer.render(frozenset({compiled.trigger}), DELETE)
        head = b"".join(text for text, survives in survival(compiled, {compiled.trigger}) if survives)
        assert trigger.contents.get(compiled.skill.main, b"").strip() == head.strip()
        for kept in random_coalitions(compiled, rng, 3):
            check_laws(compiled, renderer, kept)


@pytest.mark.heavy
@pytest.mark.skipif(not corpus(), reason="the corpus of public skills is not beside the repository")
def test_checks_of_pairs_find_the_same_as_a_full_parse():
    flagged = 0
    for folder in corpus()[::3]:
        compiled = compile_skill(folder, CompileOptions())
        renderer = Renderer(compiled, counter=COUNT)
        for kept in random_coalitions(compiled, np.random.default_rng(1), 4):
            for operator in Operator:
                for path in (compiled.skill.main, *compiled.pointers):
                    document = renderer.document(path)
                    parts, _ = document.parts(renderer._coalitions.to_bits(kept), operator)
                    expected = document.kind_check.changed_units_by_full_parse(parts)
                    assert document.kind_check.changed_units(parts, padded=operator is PAD) == expected
                    flagged += bool(expected)
    assert flagged


BLOCKS = st.sampled_from(
    [
        "# Title\n",
        "## Deeper\n",
        "Setext\n======\n",
        "A paragraph of some words, and a `NAME` in it.\n",
        "Two lines\nof one paragraph.\n",
        "Lead-in:\n",
        "- a bullet\n",
        "- a bullet\n  with a second line\n",
        "* star\n",
        "1. first\n",
        "2. second\n",
        "7) seventh\n",
        "---\n",
        "***\n",
        "Text of two lines\nright above a rule\n---\n",
        "Do this first:\n2. then this\n3. and that.\n-----\n",
        "Title\n-----\n",
        "```python\nx = 1\n\ny = 2\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "    indented code\n",
        "<div>\nhtml\n</div>\n",
        "<!-- SLOW_UPDATE_START -->\n",
        "<!-- SLOW_UPDATE_END -->\n",
        "> quoted\n",
        "x\n",
        "\u4f60\u597d\uff0c\u4e16\u754c\u3002\n",
        "\U0001f600\n",
        "caf\udce9 bytes\n",
    ]
)
GAPS = st.sampled_from(["", "", "\n", "\n\n", "  \n"])
HEADS = st.sampled_from(["", "---\nname: x\ndescription: y\n---\n", "\ufeff---\nname: x\n---\n\n", "\n\n"])


@st.composite
def documents(draw):
    text = draw(HEADS) + "".join(draw(st.lists(st.builds(str.__add__, BLOCKS, GAPS), max_size=9)))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.integers(0, 4)) == 0:
        text = text.replace("\n", "\r\n")
    return text.encode("utf-8", "surrogateescape")


def in_memory(data, options=None, **resources):
    def file(path, role, content):
        return SkillFile(
            path=path, role=role, data=content, size=len(content), digest=hashlib.sha256(content).hexdigest()
        )

    files = [file("SKILL.md", FileRole.MAIN, data)]
    files += [file(path.replace("_", "."), FileRole.RESOURCE, content) for path, content in resources.items()]
    return compile_files(
        Skill(name="x", root=Path("x"), main="SKILL.md", files=tuple(files)), options or CompileOptions()
    )


@pytest.mark.parametrize("inside", ["main", "references"])
def test_no_shown_heading_leads_to_a_missing_file(inside):
    main = (
        b"# Start at [a](a.md)\n\n- one\n\n## See b.md and [c][c]\n\n- two\n\n### Deep\n\n- three: run.py\n\n"
        b"## Empty [d](d.md)\n\n# Other\n\n- four: a.md, b.md, c.md\n\n[c]: c.md\n"
    )
    files = {"a_md": b"# Go on to [e](e.md), data.csv\n\n- in a\n", "b_md": b"# B\n\n- in b\n"}
    files |= {"c_md": b"- in c\n", "d_md": b"- in d\n", "e_md": b"# E\n\n- in e\n\n- more\n", "data_csv": b"1,2\n"}
    compiled = in_memory(main, CompileOptions(inside=inside), run_py=b"print(1)\n", **files)
    renderer = Renderer(compiled, counter=COUNT)
    for unit in compiled.execution:
        contents = renderer.render(compiled.closure(frozenset({unit})), DELETE).contents
        for path, data in contents.items():
            headings = b" ".join(line for line in data.splitlines() if line.startswith(b"#") and path.endswith(".md"))
            named = set(re.findall(rb"\w+\.(?:md|csv)", headings)) | ({b"c.md"} if b"[c]" in headings else set())
            assert {name.decode() for name in named} <= set(contents), (unit, path)
            assert b"[c][c]" not in data or b"[c]: c.md" in data, unit


@pytest.mark.heavy
@settings(max_examples=150, deadline=None)
@given(documents(), documents(), st.integers(0, 2**32 - 1))
def test_laws_on_generated_reference_files(main, reference, seed):
    inside = CompileOptions(inside="references")
    compiled = in_memory(main + b"\n\nSee notes.md and run.py.\n", inside, notes_md=reference, run_py=b"print(1)\n")
    renderer = Renderer(compiled, counter=COUNT)
    for operator in Operator:
        assert renderer.render(compiled.everything, operator).contents["notes.md"] == reference
    for kept in random_coalitions(compiled, np.random.default_rng(seed), 3):
        check_laws(compiled, renderer, kept)
        for operator in Operator if compiled.pointers else ():
            document = renderer.document("notes.md")
            parts, _ = document.parts(renderer._coalitions.to_bits(kept), operator)
            assert document.kind_check.changed_units(
                parts, padded=operator is PAD
            ) == document.kind_check.changed_units_by_full_parse(parts)


@pytest.mark.heavy
@settings(max_examples=250, deadline=None)
@given(documents(), st.integers(0, 2**32 - 1), st.sampled_from(sorted(FILLERS)))
def test_laws_on_generated_skills(data, seed, filler):
    compiled = in_memory(data, run_py=b"print('hello world')\n", notes_txt=b"Some notes.\n")
    renderer = Renderer(compiled, counter=COUNT, filler=filler)
    for operator in Operator:
        assert renderer.render(compiled.everything, operator).contents["SKILL.md"] == data
    for kept in random_coalitions(compiled, np.random.default_rng(seed), 2):
        if filler == "blank":
            check_laws(compiled, renderer, kept)
        filled = renderer.render(kept, PAD)
        assert tokens(filled.contents["SKILL.md"]) == tokens(data)
        for operator in Operator:
            document = renderer.document("SKILL.md")
            parts, _ = document.parts(renderer._coalitions.to_bits(kept), operator)
            assert join_parts(parts) == renderer.render(kept, operator).contents.get("SKILL.md", b"")
            assert document.kind_check.changed_units(
                parts, padded=operator is PAD
            ) == document.kind_check.changed_units_by_full_parse(parts)
