import numpy as np
import pytest

from skillsv.confirm import score_on_panel
from skillsv.errors import TaskError, Unavailable
from skillsv.model.task import PanelB, Task

PANEL = PanelB(tasks=tuple(Task(id=f"t{n}", input="?") for n in range(3)))
OLD, NEW = frozenset("mab"), frozenset("ma")


def scored(answer, **flags):
    policy = score_on_panel(PANEL, [OLD, NEW, OLD], **flags)
    wanted = next(policy)
    with pytest.raises(StopIteration) as done:
        policy.send({request: answer(request) for request in wanted})
    return wanted, done.value.value


def test_every_version_is_scored_on_every_task_as_often_as_asked():
    wanted, held = scored(lambda request: 1.0 if request.replicate == 0 else 0.5, replicates=2)
    assert len(wanted) == len(set(wanted)) == 2 * 3 * 2
    assert held.versions == (OLD, NEW)
    assert np.all(held.scores == 0.75)


def test_a_missing_score_leaves_its_task_out_for_all():
    _, held = scored(lambda request: None if (request.coalition, request.task) == (NEW, "t1") else 1.0)
    assert np.isnan(held.of(NEW)[1])
    assert held.paired().tasks == ("t0", "t2")
    assert held.paired().scores.shape == (2, 2)


def test_nothing_in_common_is_said():
    _, held = scored(lambda request: None if request.coalition == NEW else 1.0)
    with pytest.raises(Unavailable):
        held.paired()


def test_an_empty_panel_is_refused():
    with pytest.raises(TaskError):
        next(score_on_panel(PanelB(tasks=()), [OLD]))
