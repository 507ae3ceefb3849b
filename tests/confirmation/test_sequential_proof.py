"""The proof with looks: what it shows, what it asks for, and that verdicts do not contradict each other."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from skillsv.confirmation.gate import Gate
from skillsv.confirmation.paired_proof import PairScores, pairs_in_turn
from skillsv.confirmation.sequential_proof import LOOKS, WORSE_SHARE, SequentialProof, judge

OLD, NEW = frozenset({"old"}), frozenset({"new"})


def play(proof, score):
    """The result of a proof, and the number of requests; `score` gives the score of a request."""
    policy, asked = proof.run(), 0
    try:
        requests = next(policy)
        while True:
            asked += len(requests)
            requests = policy.send({request: score(request) for request in requests})
    except StopIteration as end:
        return end.value, asked


def make_proof(tasks, pairs, max_drop=0.05):
    names = [f"t{number}" for number in range(tasks)]
    return SequentialProof(old=OLD, new=NEW, pairs=pairs_in_turn(names, pairs), gate=Gate(max_drop=max_drop))


def test_the_looks_spend_no_more_than_the_whole_error():
    assert sum(share for _, share in LOOKS) == pytest.approx(1)
    assert LOOKS[-1][0] == 1
    assert WORSE_SHARE < 1


def test_a_steady_agent_without_a_change_is_no_worse_and_asked_once_more():
    result, asked = play(make_proof(120, 400), lambda request: 1.0)
    assert result.outcome == "no worse"
    assert asked == 400  # of 800: the second look saw repeats without a difference


def test_a_large_loss_ends_at_the_first_look():
    result, asked = play(make_proof(120, 120), lambda request: float(request.coalition == OLD))
    assert (result.outcome, asked) == ("worse", 60)
    assert result.at_best < -0.05
    assert result.tasks[0].new < result.tasks[0].old


def test_the_fewest_tasks_that_can_show_it_do():
    needed = make_proof(1, 1).tasks_needed()
    assert play(make_proof(needed, needed), lambda request: 1.0)[0].outcome == "no worse"
    assert play(make_proof(needed - 1, needed - 1), lambda request: 1.0)[0].outcome == "not shown"


def test_few_tasks_without_a_change_show_nothing():
    result, _ = play(make_proof(30, 60), lambda request: 1.0)
    assert result.outcome == "not shown"


def test_the_same_tasks_several_times_show_it_for_these_tasks():
    proof = replace(make_proof(30, 120), same_tasks=True)
    assert play(proof, lambda request: 1.0)[0].outcome == "no worse"
    assert play(make_proof(30, 120), lambda request: 1.0)[0].outcome == "not shown"


def test_missing_scores_are_left_out():
    result, _ = play(make_proof(120, 120), lambda request: None if request.task == "t3" else 1.0)
    assert len(result.tasks) == 119
    assert result.outcome == "no worse"


def test_the_same_scores_give_the_same_verdict():
    rng = np.random.default_rng(1)
    pairs = tuple(pairs_in_turn([f"t{number}" for number in range(50)], 100))
    scores = PairScores(pairs=pairs, old=rng.random(100), new=rng.random(100))
    assert judge(scores, Gate(), 0.7) == judge(scores, Gate(), 0.7)


@pytest.mark.parametrize(
    ("drop", "runs"),
    [
        (0.3, 5),
        *(pytest.param(drop, 20, marks=pytest.mark.heavy) for drop in (0.0, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3)),
    ],
)
def test_runs_of_a_noisy_agent_do_not_contradict_each_other(drop, runs):
    """Each answer is wrong with a chance of 1 in 10; the new version breaks this share of the tasks for good."""
    tasks = 120
    broken = {f"t{number}" for number in range(round(drop * tasks))}
    seen = Counter()
    for seed in range(runs):
        rng = np.random.default_rng([seed, tasks])

        def score(request, rng=rng):
            right = 0.1 if request.coalition == NEW and request.task in broken else 0.9
            return float(rng.random() < right)

        seen[str(play(make_proof(tasks, 400), score)[0].outcome)] += 1
    print(drop, dict(seen))  # noqa: T201 - counts for the reader
    assert not {"worse", "no worse"} <= set(seen)
    if drop < 0.05:
        assert not seen["worse"]
    if drop > 0.05:
        assert not seen["no worse"]
    if drop == 0.3:
        assert seen["worse"] > runs / 2
    if drop == 0.0:
        assert seen["no worse"]
