"""Pruning areas of all methods on planted games, and their pooled comparison."""

import numpy as np
import pytest

from skillsv_bench.planted import planted_skill
from skillsv_bench.planted.areas import (
    compare_areas,
    difference_and_p,
    held_out_game,
    scripted_judge,
    study_areas,
    summarize_areas,
)
from skillsv_bench.planted.studies import Setting

PAPER = Setting(chains=12, window=8, tolerance=0.05)


@pytest.fixture(scope="module")
def games():
    return study_areas("livemath", PAPER, games=range(6))


def test_skillsv_keeps_more_of_the_score_than_chance(games):
    found = {row.method: row for row in summarize_areas(games)}
    assert list(found) == ["skillsv", "closure-loo", "judge (scripted)", "random"]
    assert all(row.low <= row.area <= row.high and row.games == 6 for row in found.values())
    pairs = {(row.method, row.against): row for row in compare_areas(games)}
    assert len(pairs) == 6
    against_random = pairs["skillsv", "random"]
    assert against_random.low > 0
    assert against_random.difference == pytest.approx(found["skillsv"].area - found["random"].area)
    assert against_random.p <= against_random.p_holm < 0.05


def test_curves_are_scored_on_new_tasks_of_the_same_skill():
    game = planted_skill("officeqa", 3)
    other = held_out_game(game, np.random.default_rng(1))
    assert other.compiled is game.compiled
    assert len(other.tasks) == len(game.tasks)
    formulas = [[task.metadata["planted"] for task in each.tasks] for each in (game, other)]
    assert formulas[0] != formulas[1]


def test_the_scripted_judge_knows_the_text_and_not_the_values():
    one, other = (scripted_judge(planted_skill("livemath", seed).compiled) for seed in (0, 1))
    assert one == other
    assert len({interval.value for interval in one.values.values()}) > 1
    assert all(0 <= interval.value <= 1 for interval in one.values.values())


def test_p_is_small_where_every_task_agrees_and_one_where_nothing_differs():
    change, p = difference_and_p([np.full(40, 0.1), np.full(20, 0.3)])
    assert change.value == pytest.approx(0.2)
    assert p < 0.01
    assert difference_and_p([np.zeros(40)])[1] == 1.0
    assert difference_and_p([np.tile([0.1, -0.1], 20)])[1] > 0.5
