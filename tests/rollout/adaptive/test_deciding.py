from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillsv.order import Sampler
from skillsv.rollout.adaptive.problem import draw_closed, needed_masks
from skillsv.rollout.adaptive.task_table import TaskTable, path_between
from skillsv_bench.planted import planted_skill

GAME = planted_skill("livemath", 0)
UNITS = GAME.compiled.execution
NEEDED = needed_masks(UNITS, GAME.compiled.needs)
NUMBER = {unit: place for place, unit in enumerate(UNITS)}


def closed(mask):
    return all(need & ~mask == 0 for unit, need in enumerate(NEEDED) if mask >> unit & 1)


@given(st.integers(0, 2**32))
def test_random_sets_and_all_sets_on_the_path_between_two_are_closed(seed):
    rng = np.random.default_rng(seed)
    start, end = draw_closed(NEEDED, rng), draw_closed(NEEDED, rng)
    order = [NUMBER[unit] for unit in Sampler(GAME.compiled).sample(rng)[1:]]
    path = path_between(start, end, order)
    assert path[0] == start
    assert path[-1] == end
    assert all(map(closed, path))
    assert [(one ^ other).bit_count() for one, other in pairwise(path)] == [1] * (len(path) - 1)


def test_random_sets_hold_each_unit_about_half_the_time_even_what_others_need():
    rng = np.random.default_rng(0)
    drawn = [draw_closed(NEEDED, rng) for _ in range(2000)]
    shares = [np.mean([mask >> unit & 1 for mask in drawn]) for unit in range(len(UNITS))]
    assert min(shares) > 0.2
    assert max(shares) < 0.8


def test_two_scores_of_one_pattern_conflict_until_the_unit_between_them_is_learned():
    table = TaskTable()
    table.add(0b000, (0.0,))
    assert table.conflict is None
    table.add(0b111, (1.0,))
    assert table.conflict == (0b111, 0b000)
    table.add(0b011, (1.0,))
    table.learn(1)
    assert table.conflict is None
    assert table.knows(0b010) == (1.0,)
    assert table.knows(0b000) == (0.0,)
    table.add(0b001, (1.0,))
    assert table.conflict == (0b001, 0b000)
    table.forget(0b001)
    assert table.conflict is None
