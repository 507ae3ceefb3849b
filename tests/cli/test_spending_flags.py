"""Limits of the commands that spend on a stored run."""

import pytest

from skillsv.cli import run


@pytest.mark.parametrize("command", [["confirm"], ["pairs"], ["refine", "--mechanical", "-o", "new"]])
def test_a_budget_of_money_is_refused_where_the_cost_is_unknown(original, place, capsys, monkeypatch, valued, command):
    monkeypatch.chdir(place)
    before = len(valued.asked(original))
    name, *flags = command
    assert run([name, str(place / "run"), *flags, "--budget-usd", "5", "--yes"]) == 2
    assert "--budget-usd 5 cannot be measured" in capsys.readouterr().err
    assert len(valued.asked(original)) == before
    assert not (place / "new").exists()


def test_a_rollout_limit_beside_an_unmeasurable_budget_holds(place, capsys):
    assert run(["confirm", str(place / "run"), "--budget-usd", "5", "--max-rollouts", "10"]) == 4
    assert "--budget-usd cannot be measured, only --max-rollouts 10 holds." in capsys.readouterr().err
