"""Tokens as sums over slices: they are those of the rendering, whatever stands at the ends of slices."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler import compile_files
from skillsv.model.coalition import Operator
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.rendering import Renderer
from skillsv.rendering.tokens import MAX_CHARS, begins_apart

TEXTS = [b"- a rule\n", b"  - inside\n", b"/path first\n", b"Word", b"word\r\n", b"\tcode\n", b"\xe4\xbd\xa0\xe5\xa5\xbd\n",
         b"# Top\n", b"ends here\n\n", b" \n", b"'s\n", b"1234\n", b"\xc2\xa0space\n"]  # fmt: skip
"""Texts of slices: some go on from the line before, and some do not end their line."""

GAPS = [b"\n", b"\n\n", b"\r\n", b" \n\n", b"\n \n", b" "]
"""Gaps of several lengths; some do not end a line."""


def rendered(renderer, coalition):
    return renderer.count_tokens(renderer.render(coalition, Operator.DELETE))


@st.composite
def skills(draw, make):
    """A skill of units, headings and gaps in any order, with a text file that a unit owns and a binary one."""
    pieces = [("m", 0, draw(st.sampled_from([b"---\nname: x\n---\n", b"m", b"m\n"])))]
    if draw(st.booleans()):
        pieces.insert(0, ("^", 1, b"\xef\xbb\xbf"))
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["unit", "unit", "#", "~"]))
        text = draw(st.sampled_from(GAPS if kind == "~" else TEXTS))
        pieces.append((f"u{number}" if kind == "unit" else kind, draw(st.integers(0, 2)), text))
    resources = {"data.txt": b"some more text\n", "data.bin": b"\0\1"} if draw(st.booleans()) else {}
    return make(pieces, resources=resources, parents=(None, 0, 1))


@pytest.mark.heavy
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_sums_are_the_tokens_of_the_rendering(make, data):
    compiled = data.draw(skills(make))
    renderer = Renderer(compiled, check=False)
    assert renderer._sum_tokens is not None
    for _ in range(4):
        units = data.draw(st.frozensets(st.sampled_from(compiled.execution))) if compiled.execution else frozenset()
        coalition = compiled.closure(units | {compiled.trigger})
        assert renderer.tokens_left(coalition) == rendered(renderer, coalition)
    assert renderer.tokens_left(compiled.everything) == renderer.total_tokens
    assert renderer.tokens_left(frozenset()) == 0


def test_files_that_are_cut_into_units_are_summed_up_too():
    main = b"---\nname: x\ndescription: y\n---\n\n# Top\n\n- See [more](references/more.md).\n- Another rule.\n"
    more = b"# More\n\n" + b"".join(b"- Rule number %d says so.\n  - And this.\n" % number for number in range(60))
    files = [
        SkillFile(path="SKILL.md", role=FileRole.MAIN, data=main, size=len(main), digest="1"),
        SkillFile(path="references/more.md", role=FileRole.RESOURCE, data=more, size=len(more), digest="2"),
    ]
    compiled = compile_files(Skill(name="x", root=Path("x"), main="SKILL.md", files=tuple(files)))
    assert "references/more.md" in compiled.pointers
    renderer, kept = Renderer(compiled), compiled.everything
    for unit in reversed(compiled.execution):
        kept -= compiled.reverse_closure(frozenset({unit}))
        assert renderer.tokens_left(kept) == rendered(renderer, kept)


@pytest.mark.parametrize(
    ("text", "counter"),
    [(b"- a\n", lambda text: len(text) ** 2), (b"- \xff\n", None), (b"- a\n" * (MAX_CHARS // 4), None)],
)
def test_a_skill_whose_tokens_do_not_add_up_is_rendered(make, text, counter):
    compiled = make([("m", 0, b"---\nname: x\n---\n"), ("u", 1, text), ("v", 1, b"- b\n")])
    renderer = Renderer(compiled, counter=counter, check=False)
    assert renderer._sum_tokens is None
    assert renderer.tokens_left(frozenset({"m", "v"})) == rendered(renderer, frozenset({"m", "v"}))


def test_a_text_begins_apart_unless_white_space_or_a_slash_is_first():
    assert [begins_apart(text) for text in ("- a", "a", "", " a", "\n", "/a", "\u00a0a")] == [True, True] + [False] * 5
