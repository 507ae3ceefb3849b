"""Precision and recall of a description, with intervals that cover."""

import numpy as np
import pytest

from skillsv.estimate.trigger import Decision, estimate_precision, estimate_recall


def decisions(*groups):
    """Each group: how many requests, whether they should open the skill, and the share of rollouts that did."""
    return [
        Decision(task=f"{index}-{number}", should_trigger=wanted, opened=opened)
        for index, (size, wanted, opened) in enumerate(groups)
        for number in range(size)
    ]


def test_precision_and_recall_count_requests():
    found = decisions((6, True, 1.0), (2, True, 0.0), (2, False, 1.0), (10, False, 0.0))
    precision, recall = estimate_precision(found, 0.95), estimate_recall(found, 0.95)
    assert (precision.value, recall.value) == (6 / 8, 6 / 8)
    assert precision.low == pytest.approx(0.409, abs=0.001)  # Wilson, 6 of 8
    assert precision.high == pytest.approx(0.929, abs=0.001)


def test_repeated_requests_count_with_their_share():
    found = decisions((1, True, 0.5), (1, False, 0.5))
    assert (estimate_precision(found, 0.95).value, estimate_recall(found, 0.95).value) == (0.5, 0.5)


def test_what_was_never_opened_or_never_needed_has_no_share():
    assert estimate_precision(decisions((3, True, 0.0)), 0.95) is None
    assert estimate_recall(decisions((3, False, 1.0)), 0.95) is None


@pytest.mark.parametrize("truth", [0.6, 0.8, 0.95])
def test_intervals_cover_the_truth(truth):
    rng = np.random.default_rng(7)
    covered = [
        estimate_recall(decisions((k, True, 1.0), (20 - k, True, 0.0)), 0.95).covers(truth)
        for k in rng.binomial(20, truth, size=1000).tolist()
    ]
    assert np.mean(covered) >= 0.92
