"""What a budget buys: shares between the measured ones, and the power of a proof."""

import numpy as np
import pytest

from skillsv.api.budgets import BUDGETS, MEASURED_TASKS, MEASURED_UNITS, SHARES, BudgetTable
from skillsv.confirmation.gate import Gate, lower_bound


def table(**changes):
    fields = {"units": 30, "tasks": 40, "held_out": 60, "operators": 1, "gate": Gate()}
    return BudgetTable(**{**fields, **changes})


def test_measured_sizes_give_the_measured_shares():
    for agent, place in (("deterministic", 0), ("noisy", 1)):
        for row, units in enumerate(MEASURED_UNITS):
            for column, tasks in enumerate(MEASURED_TASKS):
                found = [line.decided[place] for line in table(units=units, tasks=tasks).rows()]
                assert found == pytest.approx(SHARES[agent][row][column])


def test_a_second_operator_takes_twice_the_rollouts():
    one, two = table().rows(), table(operators=2).rows()
    assert [row.decided for row in two[1:]] == [row.decided for row in one[:-1]]
    assert two[0].decided[0] == pytest.approx(one[0].decided[0] / 2)


def test_too_few_held_out_tasks_prove_nothing_at_any_budget():
    assert {row.power for row in table(held_out=58).rows()} == {(0.0, 0.0)}
    assert table(held_out=0).rows()[0].power == (0.0, 0.0)
    assert [row.power[0] for row in table(held_out=60).rows()] == [0.0, 1.0, 1.0, 1.0]  # 240 rollouts score 60 tasks


def test_the_power_of_a_noisy_proof_agrees_with_simulated_proofs():
    """Pairs of coin flips with variance .1 on 100 tasks, two replicates: how often the real bound meets the gate."""
    rng, gate = np.random.default_rng(3), Gate(max_drop=0.1)
    chance = (1 - np.sqrt(1 - 2 * 0.1)) / 2  # two flips with this chance differ with a variance of .1
    met = 0
    for _ in range(200):
        flips = rng.random((2, 100, 2)) < chance
        differences = (flips[0].astype(float) - flips[1]).mean(axis=1)
        met += lower_bound(differences, gate.level, rng) >= -gate.max_drop
    rows = {row.rollouts: row.power[1] for row in table(held_out=100, gate=gate).rows()}
    assert rows[800] == pytest.approx(met / 200, abs=0.12)


def test_every_row_names_its_budget():
    lines = table(held_out=20).lines()
    assert [line.split()[0] for line in lines[2:6]] == [f"{budget:,}" for budget in BUDGETS]
    assert lines[-1].startswith("20 held-out tasks rule out a drop of 13.9 points at best, unless scores rise")
