from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.patterns import pattern_effects, score_patterns

UNITS = 4
EVERY = np.array([[mask >> unit & 1 for unit in range(UNITS)] for mask in range(1 << UNITS)], dtype=np.bool_)
ORDERS = np.array(list(permutations(range(UNITS))))
PLACES = np.argsort(ORDERS, axis=1)


def shapley(scores):
    """Marginals averaged over all orders, computed one by one."""
    values = np.zeros(UNITS)
    for order in ORDERS.tolist():
        mask = 0
        for unit in order:
            values[unit] += scores[mask | 1 << unit] - scores[mask]
            mask |= 1 << unit
    return values / len(ORDERS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1 << UNITS, max_size=1 << UNITS))
def test_values_are_exact_when_everything_was_scored(scores):
    scored = ScoredCoalitions(present=EVERY, task=np.zeros(len(EVERY), dtype=np.int64), score=np.array(scores))
    effects = pattern_effects(scored, 1, PLACES)
    assert effects.values[0] == pytest.approx(shapley(scores), abs=1e-12)
    assert effects.predicted[0] == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_values_add_up_to_the_lift_with_coalitions_left_out(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(2, size=len(EVERY)).astype(float)
    kept = rng.random(len(EVERY)) < 0.4
    kept[[0, -1]] = True
    scored = ScoredCoalitions(present=EVERY[kept], task=np.zeros(kept.sum(), dtype=np.int64), score=scores[kept])
    patterns = score_patterns(scored.present, scored.score)
    effects = pattern_effects(scored, 1, PLACES)
    assert effects.values.sum() == pytest.approx(patterns.scores[-1] - patterns.scores[0])


def test_a_unit_is_deciding_only_after_a_pair_of_scores_shows_it():
    both = EVERY[:, 0] & EVERY[:, 1]
    kept = [0, 1, 3, 15]
    patterns = score_patterns(EVERY[kept], both[kept].astype(float))
    assert patterns.deciding == (1,)
    assert patterns.agreeing == 1
    more = [*kept, 2]
    patterns = score_patterns(EVERY[more], both[more].astype(float))
    assert patterns.deciding == (0, 1)
    assert patterns.known.all()


def test_a_pattern_with_different_scores_is_not_known():
    patterns = score_patterns(EVERY[[0, 15]], np.array([0.0, 1.0]))
    assert patterns.deciding == ()
    assert not patterns.known.any()


def test_a_score_that_did_not_repeat_is_left_out():
    rows = EVERY[[0, 15, 1, 1]]
    patterns = score_patterns(rows, np.array([0.0, 0.0, 1.0, 0.0]))
    assert patterns.deciding == ()
    assert patterns.known.all()
