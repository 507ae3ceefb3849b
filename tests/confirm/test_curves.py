import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.confirm import HeldOut, areas, comparisons, curve, track
from skillsv.model.edit import PruneStep

UNITS = "mabcde"


def path(tokens):
    """One unit goes at each step, leaving so many tokens."""
    steps = []
    for number, left in enumerate(tokens, start=1):
        kept = frozenset(UNITS[: len(UNITS) - number])
        steps.append(
            PruneStep(unit=UNITS[-number], removed=(UNITS[-number],), kept=kept, tokens_left=left, share_removed=0.0, lost_value=0.0)
        )  # fmt: skip
    return steps


def held(track_, rng, tasks=20):
    return HeldOut(
        tasks=tuple(f"t{n}" for n in range(tasks)), versions=track_.kept, scores=rng.random((len(track_.kept), tasks))
    )


@given(st.lists(st.integers(1, 50), min_size=5, max_size=5), st.integers(1, 8))
def test_a_track_runs_from_the_whole_skill_to_the_trigger(parts, checkpoints):
    left = [10 + sum(parts[number:]) for number in range(6)]
    found = track(frozenset(UNITS), path(left[1:]), left[0], checkpoints)
    assert found.shares[0] == 0
    assert found.shares[-1] == 1
    assert found.kept[0] == frozenset(UNITS)
    assert found.kept[-1] == {"m"}
    assert list(found.shares) == sorted(found.shares)
    assert len(found.kept) == min(checkpoints, 4) + 2
    assert found.weights().sum() == pytest.approx(1)


def test_the_area_is_that_of_trapezoids():
    found = track(frozenset(UNITS), path([80, 60, 50, 30, 10]), 100, 9)
    scores = held(found, np.random.default_rng(0))
    brute = [np.trapezoid(scores.scores[:, task], found.shares) for task in range(20)]
    assert areas(scores, [found]) == pytest.approx(brute)
    drawn = curve("x", scores, [found], level=0.95, rng=np.random.default_rng(1))
    assert drawn.auc.value == pytest.approx(np.mean(brute))
    assert [point.score.value for point in drawn.points] == pytest.approx(scores.scores.mean(axis=1))


def test_several_orders_are_averaged():
    one = track(frozenset(UNITS), path([80, 60, 50, 30, 10]), 100, 2)
    other = track(frozenset(UNITS), path([90, 85, 20, 15, 10]), 100, 2)
    rng = np.random.default_rng(2)
    versions = tuple(dict.fromkeys((*one.kept, *other.kept)))
    scores = HeldOut(tasks=("a", "b", "c"), versions=versions, scores=rng.random((len(versions), 3)))
    together = curve("random", scores, [one, other], level=0.9, rng=rng)
    assert together.auc.value == pytest.approx((areas(scores, [one]).mean() + areas(scores, [other]).mean()) / 2)
    for point in together.points:
        by_hand = [
            np.interp(point.share_removed, each.shares, scores.rows(each.kept).mean(axis=1)) for each in (one, other)
        ]
        assert point.score.value == pytest.approx(np.mean(by_hand))


def test_methods_are_compared_task_by_task():
    easy = np.linspace(0, 1, 30)
    (found,) = comparisons({"a": easy + 0.1, "b": easy}, level=0.95, rng=np.random.default_rng(3))
    assert (found.first, found.second) == ("a", "b")
    assert found.difference.low == pytest.approx(0.1)
    assert found.difference.high == pytest.approx(0.1)
    assert comparisons({"a": easy}, level=0.95, rng=np.random.default_rng(3)) == ()


def test_a_skill_of_nothing_but_its_trigger_has_no_curve_to_speak_of():
    found = track(frozenset("m"), [], 10, 5)
    assert found.shares == (0.0,)
