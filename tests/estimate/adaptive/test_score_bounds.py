import numpy as np
import pytest

from skillsv.estimate.adaptive.score_bounds import FIRST_DRAW, LARGEST, ScoreBounds

CHAINS, TASKS, ROWS = 3, 60, 60


def chance(logit):
    return 1 / (1 + np.exp(-logit))


def play(low, high, seed=0):
    """Logits far from zero on both sides, and scores with this floor and ceiling."""
    rng = np.random.default_rng(seed)
    logit = rng.choice([-4.0, 4.0], size=(TASKS, ROWS))
    score = (rng.random((TASKS, ROWS)) < low + (high - low) * chance(logit)).astype(float)
    return score, np.tile(logit, (CHAINS, 1, 1))


def draw_often(bounds, logit, times=60):
    rng, drawn = np.random.default_rng(1), []
    for _ in range(times):
        outcomes = bounds.draw_outcomes(logit, rng)
        drawn.append((bounds.low, bounds.high))
    low, high = np.mean(drawn[times // 2 :], axis=0)
    return outcomes, low, high


def bounds_of(score, bounded=None):
    bounded = np.ones(TASKS, dtype=bool) if bounded is None else bounded
    return ScoreBounds(CHAINS, score, np.ones((TASKS, ROWS), dtype=bool), bounded)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.15, 0.95), (0.05, 0.8)])
def test_floors_and_ceilings_are_found_where_the_curve_is_known(low, high):
    score, logit = play(low, high)
    _, found_low, found_high = draw_often(bounds_of(score), logit)
    assert found_low.mean() == pytest.approx(low, abs=0.035)
    assert found_high.mean() == pytest.approx(high, abs=0.035)


def test_scores_far_from_the_curve_are_taken_for_exceptions():
    score, logit = play(0.1, 0.9)
    outcomes, _, _ = draw_often(bounds_of(score), logit)
    assert (outcomes == (logit > 0)).mean() > 0.95
    assert (score == (logit[0] > 0)).mean() < 0.95


def test_tasks_without_bounds_keep_their_scores():
    score, logit = play(0.2, 0.8)
    bounded = np.arange(TASKS) < TASKS // 2
    score[~bounded] *= 0.5
    bounds = bounds_of(score, bounded)
    outcomes, low, high = draw_often(bounds, logit)
    assert np.array_equal(outcomes[:, ~bounded], np.tile(score[~bounded], (CHAINS, 1, 1)))
    assert low[:, ~bounded].max() == 0.0
    assert high[:, ~bounded].min() == 1.0


def test_bounds_stay_as_they_are_in_the_first_sweeps():
    score, logit = play(0.2, 0.8)
    bounds, rng = bounds_of(score), np.random.default_rng(0)
    before = bounds.low
    for _ in range(FIRST_DRAW):
        assert bounds.draw_outcomes(logit, rng) is score
    assert bounds.low is before
    bounds.draw_outcomes(logit, rng)
    assert bounds.low is not before


def test_a_floor_stays_below_the_ceiling_on_a_task_of_pure_noise():
    score, logit = play(0.5, 0.5)
    bounds, rng = bounds_of(score), np.random.default_rng(0)
    for _ in range(40):
        bounds.draw_outcomes(logit, rng)
        assert bounds.low.max() <= LARGEST
        assert (bounds.high > bounds.low).all()
