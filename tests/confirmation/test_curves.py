import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.confirmation import PanelScores, areas, choose_checkpoints, comparisons, curve
from skillsv.model.edit import PruneStep

UNITS = "mabcde"


def path(tokens):
    """A path that removes one unit at each step and leaves so many tokens."""
    steps = []
    for number, left in enumerate(tokens, start=1):
        kept = frozenset(UNITS[: len(UNITS) - number])
        steps.append(
            PruneStep(unit=UNITS[-number], removed=(UNITS[-number],), kept=kept, tokens_left=left, share_removed=0.0, lost_value=0.0)
        )  # fmt: skip
    return steps


def random_scores(points, rng, tasks=20):
    return PanelScores(
        tasks=tuple(f"t{n}" for n in range(tasks)), versions=points.kept, scores=rng.random((len(points.kept), tasks))
    )


@given(st.lists(st.integers(1, 50), min_size=5, max_size=5), st.integers(1, 8))
def test_checkpoints_run_from_the_full_skill_to_the_trigger(parts, checkpoints):
    left = [10 + sum(parts[number:]) for number in range(6)]
    points = choose_checkpoints(frozenset(UNITS), path(left[1:]), left[0], checkpoints)
    assert points.shares[0] == 0
    assert points.shares[-1] == 1
    assert points.kept[0] == frozenset(UNITS)
    assert points.kept[-1] == {"m"}
    assert list(points.shares) == sorted(points.shares)
    assert len(points.kept) == min(checkpoints, 4) + 2
    assert points.weights().sum() == pytest.approx(1)


def test_the_area_is_computed_with_trapezoids():
    points = choose_checkpoints(frozenset(UNITS), path([80, 60, 50, 30, 10]), 100, 9)
    scores = random_scores(points, np.random.default_rng(0))
    by_hand = [np.trapezoid(scores.scores[:, task], points.shares) for task in range(20)]
    assert areas(scores, [points]) == pytest.approx(by_hand)
    drawn = curve("x", scores, [points], level=0.95, rng=np.random.default_rng(1))
    assert drawn.auc.value == pytest.approx(np.mean(by_hand))
    assert [point.score.value for point in drawn.points] == pytest.approx(scores.scores.mean(axis=1))


def test_the_curves_of_several_orders_are_averaged():
    one = choose_checkpoints(frozenset(UNITS), path([80, 60, 50, 30, 10]), 100, 2)
    other = choose_checkpoints(frozenset(UNITS), path([90, 85, 20, 15, 10]), 100, 2)
    rng = np.random.default_rng(2)
    versions = tuple(dict.fromkeys((*one.kept, *other.kept)))
    scores = PanelScores(tasks=("a", "b", "c"), versions=versions, scores=rng.random((len(versions), 3)))
    together = curve("random", scores, [one, other], level=0.9, rng=rng)
    assert together.auc.value == pytest.approx((areas(scores, [one]).mean() + areas(scores, [other]).mean()) / 2)
    for point in together.points:
        by_hand = [
            np.interp(point.share_removed, path.shares, scores.rows(path.kept).mean(axis=1)) for path in (one, other)
        ]
        assert point.score.value == pytest.approx(np.mean(by_hand))


def test_methods_are_compared_task_by_task():
    easy = np.linspace(0, 1, 30)
    (comparison,) = comparisons({"a": easy + 0.1, "b": easy}, level=0.95, rng=np.random.default_rng(3))
    assert (comparison.first, comparison.second) == ("a", "b")
    assert comparison.difference.low == pytest.approx(0.1)
    assert comparison.difference.high == pytest.approx(0.1)
    assert comparisons({"a": easy}, level=0.95, rng=np.random.default_rng(3)) == ()


def test_a_skill_of_only_a_trigger_has_one_checkpoint():
    points = choose_checkpoints(frozenset("m"), [], 10, 5)
    assert points.shares == (0.0,)
