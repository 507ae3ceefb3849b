"""The study of `shrink` plays the product's own steps, within their budget, and counts what is true."""

import json

import numpy as np
import pytest

from skillsv.cli import run
from skillsv.extend.shrinking import Gate, ShrinkGoal
from skillsv_bench.families import NOISES
from skillsv_bench.shrinking.play import play
from skillsv_bench.shrinking.study import Trial, Truth, run_study, tables, token_share
from skillsv_bench.shrinking.summary import claims, rows_of

GATE = Gate(max_drop=0.05)


@pytest.fixture(scope="module")
def table():
    return next(tables(1, ["T=.25"], first_seed=40))


@pytest.mark.heavy
@pytest.mark.parametrize("same_tasks", [False, True])
def test_a_play_stays_within_its_budget(table, same_tasks):
    played = play(table, ShrinkGoal(rollouts=400, gate=GATE, same_tasks=same_tasks))
    assert played.noisy
    assert played.spent <= 400
    assert played.results


def test_a_steady_agent_is_shrunk_by_trials_within_the_budget():
    table = next(tables(1, ["T=0"], first_seed=40))
    played = play(table, ShrinkGoal(rollouts=800, gate=GATE))
    assert not played.noisy
    assert played.spent <= 800
    assert token_share(table.game, played.chosen[0].removed) > 0.2


@pytest.mark.heavy
def test_a_play_is_the_same_again(table):
    goal = ShrinkGoal(rollouts=300, gate=GATE)
    assert play(table, goal).chosen == play(table, goal).chosen


def test_the_oracle_deletes_units_that_lose_nothing(table):
    truth = Truth(game=table.game, noise=NOISES["T=.25"])
    useless = truth.useless()
    assert useless
    assert truth.drop(useless) < 0.01
    assert 0 < token_share(table.game, useless) < 1


def trial(**changes):
    usual = {"arm": "shrink", "game": "g", "kind": "sparse", "noise": "T=.5", "rollouts": 800, "share": 0.4}
    return Trial(**{**usual, "passed": True, "drop": 0.0, "forecast": 0.5, **changes})


def test_claims_count_proven_tokens_and_wrong_proofs():
    trials = [
        trial(first_passed=True),
        trial(passed=False, share=0.9),
        trial(arm="checked", passed=True, drop=0.06, forecast=None),
        *[trial(arm="checked", passed=False, drop=0.2, forecast=None)] * 99,
    ]
    rows = rows_of("noisy", trials)
    assert rows[0].proven == pytest.approx(0.2)
    found = {claim.text: claim for claim in claims(rows, trials, max_drop=0.05)}
    assert found["noisy, 800 rollouts: proven tokens at least 0.18"].holds
    assert "1 of 100" in found["of sets that really lose more than the limit at most 1% pass"].measured
    assert not found["of sets that really lose 1 to 1.5 times the limit at most 5% pass"].holds
    assert found["power forecast at 800"].holds


def test_sets_near_the_limit_count_only_for_their_own_claim():
    trials = [trial(arm="near limit", passed=passed, drop=0.06, forecast=None) for passed in (True, *[False] * 39)]
    found = {claim.text: claim.measured for claim in claims([], trials, max_drop=0.05)}
    assert "0 of 0" in found["of sets that really lose more than the limit at most 1% pass"]
    assert "1 of 40" in found["of sets that really lose 1 to 1.5 times the limit at most 5% pass"]


@pytest.mark.heavy
def test_sets_near_the_limit_lose_a_little_more_than_it(table):
    truth = Truth(game=table.game, noise=NOISES["T=.25"])
    near = truth.near_limit(0.05)
    assert near
    assert all(0.05 < truth.drop(removed) <= 0.075 for removed in near)
    assert {task.id for task in truth.panel(200).tasks} == {task.id for task in truth.new_tasks.tasks[200:350]}


@pytest.mark.heavy
def test_a_study_proves_every_arm_at_every_budget():
    trials = run_study(tables(1, ["T=0"], first_seed=41), [300], gate=GATE)
    assert {one.arm for one in trials} >= {"shrink", "oracle", "random", "checked"}
    assert all(np.isfinite(one.drop) for one in trials)


@pytest.mark.heavy
def test_the_command_prints_rows_and_claims(capsys):
    assert run(["bench", "shrink", "--quick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "skillsv.bench.shrink/1"
    assert {row["arm"] for row in answer["rows"]} == {"shrink", "oracle", "random"}
