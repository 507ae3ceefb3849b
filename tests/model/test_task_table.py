"""The table of deciding units that the adaptive policy and the adaptive estimate share."""

import numpy as np
import pytest

from skillsv.model.task_table import TaskTable
from skillsv.rollout.adaptive.noise_monitor import PanelMonitor
from skillsv.rollout.adaptive.order_pool import OrderPool
from skillsv.rollout.adaptive.task_search import UnitFindings, search_task

UNITS = 6


def test_scores_of_one_pattern_conflict_until_the_unit_is_added():
    table = TaskTable()
    table.add(0b000, (0.0,))
    assert table.conflict is None
    table.add(0b111, (1.0,))
    assert table.conflict == (0b111, 0b000)
    table.add(0b011, (1.0,))
    table.add_deciding([1])
    assert table.conflict is None
    assert table.score_of(0b010) == (1.0,)
    assert table.score_of(0b000) == (0.0,)
    table.add(0b001, (1.0,))
    assert table.conflict == (0b001, 0b000)
    table.remove(0b001)
    assert table.conflict is None


def test_find_deciding_gives_the_first_score_that_showed_each_unit():
    table = TaskTable()
    for mask, score in ((0b00, 0.0), (0b01, 1.0), (0b11, 0.5), (0b10, 0.0)):
        table.add(mask, (score,))
    assert table.find_deciding(2) == {0: 1, 1: 2}
    assert table.deciding == []


def test_effect_of_a_unit_is_the_mean_change_where_only_it_was_added():
    table = TaskTable()
    for mask, score in ((0b00, 0.0), (0b01, 1.0), (0b11, 0.5), (0b10, 0.5)):
        table.add(mask, (score,))
    assert table.effect_of(0) == 0.5
    assert table.effect_of(1) == 0.0
    assert table.effect_of(2) == 0.0


def test_scores_by_pattern_groups_the_scores_by_deciding_units():
    table = TaskTable()
    for mask, score in ((0b00, 0.0), (0b01, 1.0), (0b10, 0.0)):
        table.add(mask, (score,))
    table.add_deciding([0])
    assert table.scores_by_pattern() == {0b00: [(0.0,), (0.0,)], 0b01: [(1.0,)]}


@pytest.mark.parametrize("seed", range(8))
def test_bisection_and_comparison_find_the_same_deciding_units(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(2, size=1 << UNITS).tolist()
    orders = np.array([rng.permutation(UNITS) for _ in range(50)])
    pool = OrderPool(orders=orders, place=np.argsort(orders, axis=1))
    table = TaskTable()
    for mask in (0, (1 << UNITS) - 1):
        table.add(mask, (float(scores[mask]),))
    units = UnitFindings(decided=np.zeros(UNITS), effect=np.zeros(UNITS))
    for _ in range(30):
        run_search(search_task(table, pool, rng, PanelMonitor(tasks=1).of_task(0), units), scores)
        assert table.conflict is not None or set(table.deciding) == set(table.find_deciding(UNITS))
    assert table.deciding


def run_search(search, scores):
    try:
        request = next(search)
        while True:
            request = search.send((float(scores[request.mask]),))
    except StopIteration:
        return


def test_suspects_are_the_units_between_the_nearest_coalitions_in_conflict():
    table = TaskTable()
    for coalition, score in ((0b0000, 0.0), (0b1111, 1.0), (0b0011, 0.0)):
        table.add(coalition, (score,))
    assert table.suspects() == 0b1100
    table.add(0b0111, (1.0,))
    table.add_deciding(table.find_deciding(4))
    assert table.suspects() == 0


def test_compared_units_made_no_difference_beyond_the_anchors():
    table = TaskTable()
    for coalition, score in ((0b0000, 0.0), (0b1111, 0.0)):
        table.add(coalition, (score,))
    assert table.compared(0b1111) == 0
    table = TaskTable()
    for coalition, score in ((0b0000, 0.0), (0b0001, 1.0), (0b0011, 1.0), (0b1111, 1.0)):
        table.add(coalition, (score,))
    table.add_deciding([0])
    assert table.compared(0b1111) == 0b1110
