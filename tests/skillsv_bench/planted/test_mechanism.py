"""The mechanism figure: a real run on files recovers the planted roles under both operators."""

from __future__ import annotations

import json

import pytest

from skillsv.cli.app import run
from skillsv.model.coalition import Operator
from skillsv_bench.planted.game import Role
from skillsv_bench.planted.mechanism import CROWDED_TASKS, make_crowded_game, true_values


def test_padding_keeps_the_length_that_the_crowded_tasks_punish():
    game = make_crowded_game()
    truth = true_values(game)
    # {m} solves the harmed and the crowded tasks; the whole skill loses both and solves the three other kinds.
    assert sum(truth[Operator.DELETE].values()) == pytest.approx((24 - 8 - CROWDED_TASKS) / len(game.tasks))
    # Padded, even {m} is too long for the crowded tasks, so nothing of them is lost.
    assert sum(truth[Operator.PAD].values()) == pytest.approx((24 - 8) / len(game.tasks))
    dead = next(unit for unit, role in game.role_of.items() if role is Role.DEAD)
    assert truth[Operator.PAD][dead] == pytest.approx(0.0)
    assert truth[Operator.DELETE][dead] < 0


@pytest.mark.heavy
def test_the_command_writes_all_methods_with_a_judge(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.py").write_text("def rate(skill, task, replicate): return '30'\n")
    words = ("bench", "mechanism", "--judge", "python:judge.py:rate", "-k", "24", "--quiet", "--json", "-o", "out")
    assert run([*words]) == 2  # nobody agreed to the judge's cost
    capsys.readouterr()
    assert run([*words, "--yes"]) == 0
    units = json.loads(capsys.readouterr().out)["units"]
    by_role = {unit["role"]: unit for unit in units}
    assert all(unit["LLM judge, of 100"] == 0.3 for unit in units)
    names = {"SkillSV, net (delete)": "true net", "SkillSV, content (pad)": "true content"}
    held = [unit[f"{name} low"] <= unit[true] <= unit[f"{name} high"] for unit in units for name, true in names.items()]
    assert sum(held) >= 11  # of 14 intervals at 95 %: fewer happen once in two thousand seeds
    # Leaving one of two redundant units out loses nothing, and leaving out one of a needed pair loses both.
    assert by_role[Role.OR]["Closure-LOO"] == pytest.approx(0.0)
    assert by_role[Role.AND]["Closure-LOO"] == pytest.approx(2 * by_role[Role.AND]["true content"], abs=0.01)
    assert (tmp_path / "out" / "mechanism.svg").read_text().startswith("<svg")
    assert (tmp_path / "out" / "mechanism.csv").read_text().startswith("unit,role,true net (points),")


@pytest.mark.heavy
def test_without_a_judge_nothing_is_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["bench", "mechanism", "-k", "4", "--quiet", "--json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)["units"]
    assert "LLM judge, of 100" not in first
    assert "Closure-LOO" in first
