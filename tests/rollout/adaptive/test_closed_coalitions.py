from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillsv.order import Sampler
from skillsv.rollout.adaptive.closed_coalitions import draw_closed, needed_masks, path_between
from skillsv_bench.planted import planted_skill

GAME = planted_skill("livemath", 0)
UNITS = GAME.compiled.execution
NEEDED = needed_masks(UNITS, GAME.compiled.needs)
NUMBER = {unit: place for place, unit in enumerate(UNITS)}


def closed(mask):
    return all(need & ~mask == 0 for unit, need in enumerate(NEEDED) if mask >> unit & 1)


@given(st.integers(0, 2**32))
def test_random_coalitions_and_paths_between_them_are_closed(seed):
    rng = np.random.default_rng(seed)
    start, end = draw_closed(NEEDED, rng), draw_closed(NEEDED, rng)
    order = [NUMBER[unit] for unit in Sampler(GAME.compiled).sample(rng)[1:]]
    path = path_between(start, end, order)
    assert path[0] == start
    assert path[-1] == end
    assert all(map(closed, path))
    assert [(one ^ other).bit_count() for one, other in pairwise(path)] == [1] * (len(path) - 1)


def test_random_coalitions_hold_each_unit_about_half_the_time():
    rng = np.random.default_rng(0)
    drawn = [draw_closed(NEEDED, rng) for _ in range(2000)]
    shares = [np.mean([mask >> unit & 1 for mask in drawn]) for unit in range(len(UNITS))]
    assert min(shares) > 0.2
    assert max(shares) < 0.8
