"""Scores on panel B: every version on every task, and what a missing score does."""

import numpy as np
import pytest

from skillsv.confirmation import score_on_panel
from skillsv.errors import TaskError, Unavailable
from skillsv.model.task import PanelB, Task

PANEL = PanelB(tasks=tuple(Task(id=f"t{n}", input="?") for n in range(3)))
OLD, NEW = frozenset("mab"), frozenset("ma")


def scored(answer, **flags):
    policy = score_on_panel(PANEL, [OLD, NEW, OLD], **flags)
    requests = next(policy)
    with pytest.raises(StopIteration) as done:
        policy.send({request: answer(request) for request in requests})
    return requests, done.value.value


def test_every_version_is_scored_on_every_task_in_every_replicate():
    requests, scores = scored(lambda request: 1.0 if request.replicate == 0 else 0.5, replicates=2)
    assert len(requests) == len(set(requests)) == 2 * 3 * 2
    assert scores.versions == (OLD, NEW)
    assert np.all(scores.scores == 0.75)


def test_a_task_with_a_missing_score_is_left_out_for_all_versions():
    _, scores = scored(lambda request: None if (request.coalition, request.task) == (NEW, "t1") else 1.0)
    assert np.isnan(scores.of(NEW)[1])
    assert scores.paired().tasks == ("t0", "t2")
    assert scores.paired().scores.shape == (2, 2)


def test_no_task_with_all_scores_is_an_error():
    _, scores = scored(lambda request: None if request.coalition == NEW else 1.0)
    with pytest.raises(Unavailable):
        scores.paired()


def test_an_empty_panel_is_refused():
    with pytest.raises(TaskError):
        next(score_on_panel(PanelB(tasks=()), [OLD]))
