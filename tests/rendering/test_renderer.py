"""The renderer on a hand-made skill: headings, gaps, files without units, the bare agent, errors, tokens."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skillsv.errors import CoalitionError, InputError
from skillsv.model.coalition import Operator
from skillsv.rendering import Renderer, token_counter
from skillsv.rendering.document import file_digest

DELETE, PAD = Operator.DELETE, Operator.PAD


@pytest.fixture
def renderer(small):
    return Renderer(small)


@pytest.mark.parametrize("operator", list(Operator))
def test_the_full_coalition_is_the_original(renderer, small, operator):
    rendering = renderer.render(small.everything, operator)
    assert rendering.contents == {file.path: file.data for file in small.skill.files}
    assert not rendering.flags
    assert [file.executable for file in rendering.files] == [False] * 5


def test_both_operators_give_the_full_coalition_one_digest(renderer, small):
    assert renderer.render(small.everything, DELETE).digest == renderer.render(small.everything, PAD).digest


@pytest.mark.parametrize("operator", list(Operator))
def test_the_empty_coalition_has_no_files(renderer, operator):
    rendering = renderer.render(frozenset(), operator)
    assert rendering.empty
    assert not rendering.files
    assert not rendering.flags


def test_the_trigger_alone_is_the_frontmatter(renderer):
    rendering = renderer.render(frozenset({"m"}), DELETE)
    assert rendering.text == "---\nname: toy\ndescription: A toy.\n---\n"
    assert set(rendering.contents) == {"SKILL.md", "LICENSE"}


def test_the_trigger_alone_keeps_no_headings_or_rules(make):
    compiled = make([("m", 1, b"---\nname: x\n---\n"), ("=", 1, b"***\n"), ("a", 1, b"Text.\n")])
    assert Renderer(compiled).render(frozenset({"m"}), DELETE).text == "---\nname: x\n---\n"


def test_headings_and_rules_survive_with_a_unit_below_them(renderer):
    kept = renderer.render(frozenset({"m", "two"}), DELETE).text
    assert kept == (
        "---\nname: toy\ndescription: A toy.\n---\n\n# Top\n\n\n- The second item\n  goes on for a while.\n\n---\n"
    )


def test_surviving_slices_are_joined_by_the_longest_gap(renderer):
    kept = renderer.render(frozenset({"m", "intro", "run.py", "last"}), DELETE).text
    assert "important to know.\n\n\n---\n\n# Other\n\nThe end" in kept


def test_padding_keeps_lines_tokens_and_present_units(renderer, small):
    rendering = renderer.render(frozenset({"m", "intro"}), PAD)
    original = small.skill.file("SKILL.md").data.decode()
    count = token_counter("o200k")
    assert rendering.tokens == count(rendering.text) == count(original)
    assert rendering.text.count("\n") == original.count("\n")
    assert "Read this first, it is important to know.\n" in rendering.text
    assert "\n- blank blank" in rendering.text
    assert "second item" not in rendering.text
    assert "# Other" not in rendering.text


def test_absent_files_are_deleted_or_padded(renderer, small):
    assert set(renderer.render(frozenset({"m", "data.json"}), DELETE).contents) == {"SKILL.md", "LICENSE", "data.json"}
    padded = renderer.render(frozenset({"m"}), PAD)
    count = token_counter("o200k")
    for path in ("run.py", "data.json"):
        assert count(padded.contents[path].decode()) == count(small.skill.file(path).data.decode())
    names: dict[str, object] = {}
    exec(compile(padded.contents["run.py"], "run.py", "exec"), names)
    assert set(names) == {"__builtins__"}
    assert set(" ".join(json.loads(padded.contents["data.json"])).split()) == {"blank"}


def test_absent_binaries_are_deleted_under_padding_and_flagged(renderer):
    rendering = renderer.render(frozenset({"m"}), PAD)
    assert "logo.png" not in rendering.contents
    assert rendering.flags == ("deleted-instead:logo.png",)
    assert "logo.png" in renderer.render(frozenset({"m", "logo.png"}), PAD).contents


def test_a_file_too_large_for_memory_is_copied_or_deleted(make, tmp_path):
    compiled = make([("m", 0, b"---\nname: x\n---\n")], resources={"big.csv": None})
    renderer = Renderer(compiled)
    (file,) = (file for file in renderer.render(compiled.everything, DELETE).files if file.path == "big.csv")
    assert file.data is None
    assert file.digest == "big.csv"
    assert renderer.render(frozenset({"m"}), PAD).flags == ("deleted-instead:big.csv",)
    assert renderer.tokens_of("big.csv") == 0


def test_coalitions_with_the_same_bytes_have_one_digest(make):
    virtual = make([("m", 0, b""), ("#", 2, b"# A\n"), ("a", 2, b"Text.\n")], parents=(None, 0, 1))
    renderer = Renderer(virtual)
    bare, trigger = renderer.render(frozenset(), DELETE), renderer.render(frozenset({"m"}), DELETE)
    assert trigger.empty
    assert bare.digest == trigger.digest
    assert not renderer.render(frozenset({"m"}), PAD).empty


def test_files_without_a_unit_alone_are_no_skill(make):
    virtual = make([("m", 0, b""), ("a", 1, b"Text.\n")], carried={"LICENSE": b"Free.\n"})
    assert Renderer(virtual).render(frozenset({"m"}), DELETE).empty
    assert set(Renderer(virtual).render(virtual.everything, DELETE).contents) == {"LICENSE", "SKILL.md"}


def test_a_heading_without_units_survives_with_its_parent(make):
    compiled = make(
        [
            ("m", 0, b"---\nname: x\n---\n"),
            ("#", 2, b"# A\n"),
            ("a", 2, b"Text.\n"),
            ("~", 2, b"\n"),
            ("#", 3, b"## Empty\n"),
            ("#", 4, b"# B\n"),
            ("b", 4, b"More.\n"),
        ],
        parents=(None, 0, 1, 2, 1),
    )
    renderer = Renderer(compiled)
    assert "## Empty" in renderer.render(frozenset({"m", "a"}), DELETE).text
    assert "## Empty" not in renderer.render(frozenset({"m", "b"}), DELETE).text


def test_a_byte_order_mark_survives_with_any_unit(make):
    compiled = make([("^", 1, b"\xef\xbb\xbf"), ("m", 0, b"---\nname: x\n---\n"), ("a", 1, b"Text.\n")])
    assert Renderer(compiled).render(frozenset({"m"}), DELETE).contents["SKILL.md"].startswith(b"\xef\xbb\xbf---")


def test_members_of_a_composite_are_present_together(make):
    compiled = make(
        [
            ("m", 0, b"---\nname: x\n---\n"),
            ("ab", 1, b"One.\n"),
            ("~", 1, b"\n"),
            ("c", 1, b"Two.\n"),
            ("~", 1, b"\n"),
            ("ab", 1, b"Three.\n"),
        ],
        members={"ab": ("a", "b")},
    )
    renderer = Renderer(compiled)
    assert renderer.render(frozenset({"m", "c"}), DELETE).text.endswith("---\n\nTwo.\n")
    assert renderer.render(frozenset({"m", "ab"}), DELETE).text.endswith("---\nOne.\n\nThree.\n")


def test_executable_bits_are_kept_and_part_of_the_digest(make):
    runs = make([("m", 0, b"---\nname: x\n---\n")], resources={"go.sh": b"echo hi\n"})
    files = tuple(replace(file, executable=False) for file in runs.skill.files)
    plain = replace(runs, skill=replace(runs.skill, files=files))
    digests = set()
    for compiled, bit in ((runs, True), (plain, False)):
        full = Renderer(compiled).render(compiled.everything, DELETE)
        padded = Renderer(compiled).render(frozenset({"m"}), PAD)
        for rendering in (full, padded):
            assert [file.executable for file in rendering.files if file.path == "go.sh"] == [bit]
        digests.add(full.digest)
    assert len(digests) == 2


def test_unknown_units_are_an_error_with_their_names(renderer):
    with pytest.raises(CoalitionError, match=r"no unit alpha, beta") as caught:
        renderer.render(frozenset({"m", "beta", "alpha"}), DELETE)
    assert caught.value.exit_code == 2


def test_a_coalition_that_is_not_closed_is_an_error_with_the_missing(renderer):
    with pytest.raises(CoalitionError, match=r"not kept: m, intro, run.py\."):
        renderer.render(frozenset({"one", "last"}), DELETE)


def test_digests_are_computed_from_the_bytes(renderer, small):
    for file in renderer.render(small.everything, DELETE).files:
        assert file.digest == file_digest(small.skill.file(file.path).data)


def test_tokens_of_units_and_of_the_skill(renderer, small):
    count = token_counter("o200k")
    assert renderer.tokens_of("intro") == count("Read this first, it is important to know.\n")
    assert renderer.tokens_of("logo.png") == 0
    texts = [small.skill.file(path).data.decode() for path in ("SKILL.md", "run.py", "data.json")]
    assert renderer.total_tokens == sum(map(count, texts))
    assert renderer.main_tokens == count(texts[0])
    assert renderer.tokens_left(small.everything) == renderer.total_tokens
    for _ in range(2):  # the second time from what was counted before
        assert renderer.tokens_left(frozenset({"m"})) == renderer.tokens_of("m")


def words(text):
    return len(text.split())


def pairs(text):
    """A tokenizer with two letters per token."""
    return -(-len(text) // 2)


@pytest.mark.parametrize("filler", ["blank", "dots", "sentences"])
@pytest.mark.parametrize("tokenizer", ["o200k", "cl100k", len, words, pairs])
def test_padding_is_exact_under_every_counter_and_filler(small, filler, tokenizer):
    renderer = Renderer(small, counter=token_counter(tokenizer), filler=filler)
    count = token_counter(tokenizer)
    for kept in ({"m"}, {"m", "two"}, {"m", "intro", "one"}):
        rendering = renderer.render(frozenset(kept), PAD)
        for path in ("SKILL.md", "run.py", "data.json"):
            original = small.skill.file(path).data.decode()
            assert count(rendering.contents[path].decode()) == count(original)
        assert rendering.tokens == count(rendering.text)
        assert rendering.flags == ("deleted-instead:logo.png",)


def test_a_tokenizer_that_fails_is_an_input_error(small):
    def broken(_):
        message = "no such merge"
        raise KeyError(message)

    for counter in (broken, token_counter(broken)):
        with pytest.raises(InputError, match="tokenizer broken failed") as caught:
            Renderer(small, counter=counter).render(frozenset({"m"}), PAD)
        assert caught.value.exit_code == 2


def test_deletion_needs_no_tokenizer(small):
    def broken(_):
        raise AssertionError

    assert Renderer(small, counter=token_counter(broken)).render(frozenset({"m"}), DELETE).tokens is None


def test_bytes_that_are_not_utf8_are_rendered(make):
    compiled = make(
        [
            ("m", 0, b"---\nname: \xff\xfe\n---\n"),
            ("a", 1, b"caf\xe9 \x80\x81\n"),
            ("~", 1, b"\r\n"),
            ("b", 1, b"- x\r\n"),
        ]
    )
    renderer = Renderer(compiled)
    assert renderer.render(compiled.everything, PAD).contents["SKILL.md"] == compiled.skill.files[0].data
    rendering = renderer.render(frozenset({"m", "a"}), PAD)
    assert b"caf\xe9 \x80\x81\n" in rendering.contents["SKILL.md"]
    assert rendering.tokens == renderer.main_tokens
