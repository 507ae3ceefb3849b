"""The observations of a run as arrays."""

import numpy as np

from skillsv.estimate.adaptive.observations import ScoredCoalitions, read_earlier_scores
from skillsv.model.coalition import EarlierScore
from skillsv_bench.planted import planted_skill

SCORED = ScoredCoalitions(
    present=np.array([[True, False], [False, True], [True, True], [False, False]]),
    task=np.array([0, 1, 2, 1]),
    score=np.array([0.25, 0.5, 0.75, 1.0]),
    probe=np.array([True, False, True, True]),
)


def test_chosen_tasks_keep_all_that_is_known_of_their_rows():
    chosen = SCORED.on_tasks(np.array([False, True, True]))
    assert chosen.task.tolist() == [0, 1, 0]
    assert chosen.score.tolist() == [0.5, 0.75, 1.0]
    assert chosen.probe.tolist() == [False, True, True]
    assert chosen.present.tolist() == SCORED.present[1:].tolist()


def test_earlier_scores_of_other_tasks_and_other_units_are_left_out():
    compiled = planted_skill("livemath", 1).compiled
    first = compiled.execution[0]
    known = frozenset({compiled.trigger, first})
    agent = [
        EarlierScore(task="b", coalition=known, score=0.5),
        EarlierScore(task="c", coalition=known, score=1.0),
        EarlierScore(task="a", coalition=known | {"another unit"}, score=1.0),
    ]
    scored = read_earlier_scores(compiled, agent, ["a", "b"])
    assert scored.task.tolist() == [1]
    assert scored.score.tolist() == [0.5]
    assert scored.present.sum() == scored.present[0, 0] == 1
