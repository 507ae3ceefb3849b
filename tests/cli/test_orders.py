"""`skillsv orders` as a person or a script calls it."""

from __future__ import annotations

import json

import pytest

from skillsv.cli import run
from skillsv.compiler import compile_skill
from skillsv.order import check

SKILL = """---
name: tiny
description: Three items and a script.
---

# Steps

Do these in turn:

- Run `scripts/go.py` first.
- Then read the answer.

# Notes

Nothing else matters.
"""


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "tiny"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "scripts" / "go.py").write_text("print('hello')\n")
    return folder


def test_json_is_a_list_of_feasible_orders(skill, capsys):
    assert run(["orders", str(skill), "-n", "25", "--seed", "7", "--json"]) == 0
    orders = json.loads(capsys.readouterr().out)
    compiled = compile_skill(skill)
    assert len(orders) == 25
    for order in orders:
        check(compiled, tuple(order))
        assert order[0] == compiled.trigger
    assert len({tuple(order) for order in orders}) > 1


def test_text_is_one_order_a_line_and_the_same_for_the_same_seed(skill, capsys):
    texts = []
    for seed in ("7", "7", "8"):
        assert run(["orders", str(skill), "-n", "12", "--seed", seed]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    compiled = compile_skill(skill)
    assert [sorted(line.split()) for line in texts[0].splitlines()] == [sorted(compiled.everything)] * 12


def test_exact_counts_the_reachable_partial_skills(skill, capsys):
    assert run(["orders", str(skill), "--exact", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["units"] == len(compile_skill(skill).units)
    assert result["units"] < result["reachable"] < 2 ** result["units"]
    assert result["exact"]
    assert run(["orders", str(skill), "--exact"]) == 0
    printed = capsys.readouterr().out
    assert f"{result['reachable']:,} partial skills" in printed
    assert "exactly" in printed


def test_exact_reports_a_skill_with_too_many_partial_skills(tmp_path, capsys):
    wide = tmp_path / "WIDE.md"
    wide.write_text("# Wide\n\n" + "".join(f"- Item number {number}.\n" for number in range(40)))
    assert run(["orders", str(wide), "--exact"]) == 0
    printed = capsys.readouterr().out
    assert "1,099,511,627,777 partial skills" in printed
    assert "by sampling" in printed


@pytest.mark.heavy
def test_exact_does_not_print_huge_numbers(tmp_path, capsys):
    huge = tmp_path / "HUGE.md"
    huge.write_text("# Huge\n\n" + "".join(f"- Item number {number}.\n" for number in range(20_000)))
    assert run(["orders", str(huge), "--exact"]) == 0
    assert capsys.readouterr().out.startswith("More than 10^30 partial skills of 20,001 units")
    assert run(["orders", str(huge), "--exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"units": 20_001, "reachable": None, "exact": False}


def test_compile_flags_are_used(skill, capsys):
    assert run(["orders", str(skill), "-n", "1", "--granularity", "section", "--json"]) == 0
    (coarse,) = json.loads(capsys.readouterr().out)
    assert len(coarse) < len(compile_skill(skill).units)


@pytest.mark.parametrize(
    ("words", "printed"), [(["-n", "0"], "no order at all"), (["--seed", "-1"], "negative"), (["-n", "many"], "many")]
)
def test_numbers_out_of_range_give_one_sentence(skill, capsys, words, printed):
    assert run(["orders", str(skill), *words]) == 2
    captured = capsys.readouterr()
    assert printed in captured.err
    assert not captured.out


def test_a_folder_without_a_skill_is_refused(tmp_path, capsys):
    assert run(["orders", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
