"""Where the scores of a steady agent changed."""

from skillsv.estimate.adaptive.deciding_pairs import find_deciding_pairs, find_steady_scores
from skillsv.model.coalition import EarlierScore, Observation, Operator
from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

GAME = planted_skill("mechanism", 3)


def test_each_deciding_unit_of_a_task_has_a_pair_with_different_scores():
    options = AdaptiveOptions(stop=MaxRollouts(400))
    record = play_adaptive(make_adaptive_problem(GAME), Player(GAME, Noise(), 1), options, 1)
    scores = {(item.task, item.coalition): item.score for item in record.observations if not item.replicate}
    compiled = GAME.compiled
    pairs = find_deciding_pairs(compiled, record.observations)
    asked = {(pair.task, pair.coalition) for pair in pairs}
    assert pairs
    assert len(asked) == len(pairs)
    anchors = {frozenset({compiled.trigger}), compiled.everything}
    assert not any(coalition in anchors for _, coalition in asked)
    asked |= {(item.task, anchor) for item in record.observations for anchor in anchors}
    for (task, coalition), score in scores.items():
        for unit in coalition & set(compiled.execution):
            if scores.get((task, coalition - {unit}), score) != score:
                lower = [one for name, one in asked if name == task and unit not in one]
                pairs_of_unit = [(one, one | {unit}) for one in lower if (task, one | {unit}) in asked]
                assert any(scores[task, low] != scores[task, high] for low, high in pairs_of_unit), (task, unit)


def test_scores_under_deletion_are_listed_once_without_those_that_did_not_repeat():
    def observe(units, score, operator=Operator.DELETE, replicate=0):
        return Observation(
            coalition=frozenset(units), operator=operator, task="t", replicate=replicate, score=score, why="verify"
        )

    observations = [
        observe("ma", 1.0),
        observe("ma", 0.0, Operator.PAD),
        observe("ma", 1.0, replicate=1),
        observe("mb", 1.0),
        observe("mb", 0.0, replicate=1),
        observe("mc", None),
        observe("", 1.0),
    ]
    assert find_steady_scores(observations) == (EarlierScore(task="t", coalition=frozenset("ma"), score=1.0),)
