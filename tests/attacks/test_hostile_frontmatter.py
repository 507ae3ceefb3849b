"""Frontmatter that ends or stalls a parser: deep nesting, aliases of aliases, merges, values that hold themselves.

The command runs in a process of its own: before the limits, 26,000 brackets ended it with a segmentation fault.
"""

import subprocess
import sys

import pytest

from skillsv.cli import run
from skillsv.model.frontmatter import MAX_DEPTH, MAX_VALUES, read_frontmatter, yaml_problem

DEPTH = 26_000

NESTED = {
    "lists": "a: " + "[" * DEPTH,
    "closed lists": "a: " + "[" * DEPTH + "]" * DEPTH,
    "mappings": "a: " + "{b: " * (DEPTH // 2),
    "dashes": "a:\n" + "- " * DEPTH,
    "questions": "? " * DEPTH,
    "lists and mappings": "a: " + "[{b: " * (DEPTH // 4),
}


def bomb(levels: int, times: int, *, merge: bool) -> str:
    """Each level names the one before it `times` times: about times ** levels values."""
    lines = ["a0: &a0 {x: 1}" if merge else "a0: &a0 [1]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * times)
        lines.append(f"a{level}: &a{level} {{<<: [{aliases}]}}" if merge else f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_deep_nesting_does_not_end_the_process(tmp_path, text):
    (tmp_path / "SKILL.md").write_text(f"---\nname: deep\ndescription: d\n{text}\n---\n\nSay `alpha`.\n")
    command = [sys.executable, "-m", "skillsv", "lint", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode in {0, 1}, ended.stderr
    assert "Traceback" not in ended.stderr
    assert f"more than {MAX_DEPTH} lists or mappings inside each other" in ended.stdout


@pytest.mark.parametrize("merge", [False, True], ids=["aliases", "merges"])
def test_a_bomb_of_aliases_is_a_problem_and_is_not_written_out(merge):
    frontmatter = read_frontmatter(["---", *bomb(9, 9, merge=merge).splitlines(), "---"])
    assert frontmatter.problem == f"more than {MAX_VALUES} values with aliases written out, so it is not parsed"


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {<<: *a}", "a: &a [[[*a]]]"])
def test_a_value_that_holds_itself_is_a_problem(text):
    assert yaml_problem(text) == "a value refers to itself (*a)"


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1, 2]\nb: *x\nc: *x",
        "base: &base {x: 1}\nother: {<<: *base, y: 2}",
        "a: " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1),
        bomb(4, 9, merge=True),
    ],
)
def test_usual_anchors_and_depth_are_no_problem(text):
    assert yaml_problem(text) is None
    assert read_frontmatter(["---", *text.splitlines(), "---"]).problem is None


def test_a_skill_with_a_bomb_still_compiles(tmp_path, capsys):
    (tmp_path / "SKILL.md").write_text(f"---\n{bomb(9, 9, merge=True)}\n---\n\n# Words\n\nSay `alpha`.\n")
    assert run(["compile", str(tmp_path)]) == 0
    assert "values with aliases written out" in capsys.readouterr().out
