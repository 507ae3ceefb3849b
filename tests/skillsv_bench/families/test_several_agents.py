"""The study of what one agent's values save for the next."""

import numpy as np
import pytest

from skillsv_bench.families import several_agents
from skillsv_bench.families.noise import NOISES
from skillsv_bench.families.several_agents import (
    BUDGETS,
    AgentPrecision,
    compare_costs,
    draw_agents,
    main,
    measure_game,
    rollouts_for,
)


def test_a_later_agent_shares_formulas_and_has_one_unit_turned_over():
    first, second, third = draw_agents("sparse", 1, units=15, tasks=20)
    truths = [game.truth(NOISES["T=0"]) for game in (first, second, third)]
    turned = int(np.argmax(truths[0]))
    assert truths[0][turned] > 0 > truths[1][turned]
    assert np.corrcoef(truths[0], truths[2])[0, 1] < 1


def test_rollouts_are_interpolated_between_budgets():
    assert rollouts_for([0.4, 0.2, 0.1], 0.3, [100, 200, 300]) == pytest.approx(150)
    assert rollouts_for([0.4, 0.2, 0.1], 0.5, [100, 200, 300]) == 100
    assert rollouts_for([0.4, 0.2, 0.1], 0.05, [100, 200, 300]) == float("inf")


def test_words_choose_agents_seeds_and_kinds(monkeypatch, capsys):
    asked = []

    def measure(kind, seed, agent):
        asked.append((kind, seed, agent))
        for number, informed in ((0, False), (1, False), (1, True), (2, False), (2, True)):
            for budget in BUDGETS:
                yield AgentPrecision(
                    agent=number, informed=informed, budget=budget, error=1 / budget, width=0.1, covered=1.0, shown=1,
                    right=1,
                )  # fmt: skip

    monkeypatch.setattr(several_agents, "measure_game", measure)
    main(["noisy", "7", "dense", "8"])
    assert asked == [("dense", 7, "noisy"), ("dense", 8, "noisy")]
    out = capsys.readouterr().out
    assert "three agents need 3.00 times the rollouts of the first for the first's precision" in out
    assert "three agents need 3.00 times the rollouts of the first for their own precision" in out


def test_a_harder_agent_is_compared_with_its_own_error_alone():
    easy = [1 / budget for budget in BUDGETS]
    hard = [2 / budget for budget in BUDGETS]
    halved = [1 / budget for budget in BUDGETS]
    curves = {(0, False): easy, (1, False): hard, (1, True): halved, (2, False): hard, (2, True): halved}
    sentences = list(compare_costs(curves))
    assert "agent 2 reaches the error 0.0013 after inf alone, 800 informed" in sentences
    assert "three agents need 3.00 times the rollouts of the first for the first's precision" in sentences
    assert "agent 2 reaches the error 0.0025 after 800 alone, 400 informed" in sentences
    assert "three agents need 2.00 times the rollouts of the first for their own precision" in sentences


@pytest.mark.heavy
def test_a_later_steady_agent_needs_fewer_rollouts_than_alone():
    rows = [row for seed in (31, 32, 33) for row in measure_game("sparse", seed, "deterministic", budgets=(500, 800))]
    alone, informed = (
        np.mean([row.error for row in rows if row.agent and row.informed is told and row.budget == 500])
        for told in (False, True)
    )
    assert informed < alone
    assert np.mean([row.covered for row in rows if row.informed]) > 0.93
    shown, right = (sum(getattr(row, name) for row in rows) for name in ("shown", "right"))
    assert right >= 0.97 * shown
