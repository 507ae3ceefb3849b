"""Repeats of stored rollouts, and whether the stored scores are refused."""

import pytest

from skillsv.errors import GateNotMet
from skillsv.model.coalition import Operator
from skillsv.model.rollout import Request
from skillsv.rollout.recheck import NOISE_REPEATS, RecheckResult, recheck_policy

STORED = {
    Request(coalition=frozenset({"u"}), operator=Operator.DELETE, task=f"t{n}", replicate=n): 1.0 for n in range(5)
}


def run(policy, answer):
    """The result of a policy whose requests are answered by `answer`, and all requests."""
    asked = []
    try:
        requests = next(policy)
        while True:
            asked += requests
            requests = policy.send({request: answer(request) for request in requests})
    except StopIteration as end:
        return end.value, asked


def test_equal_scores_need_one_repeat_each_with_the_same_replicate():
    result, asked = run(recheck_policy(STORED, "7"), lambda _request: 1.0)
    assert (result.compared, result.differing, result.refused) == (5, 0, False)
    assert [request.replicate for request in asked] == list(range(5))
    assert {request.why for request in asked} == {"recheck:7:0"}


def test_an_agent_that_always_gives_another_score_is_refused():
    result, asked = run(recheck_policy(STORED, "7"), lambda _request: 0.0)
    assert (result.differing, result.noise_differing, result.noise_compared) == (5, 0, 5 * NOISE_REPEATS)
    assert len(set(asked)) == 5 * (1 + NOISE_REPEATS)
    with pytest.raises(GateNotMet, match="5 of 5 scores are other ones"):
        result.require_same()


def test_an_agent_that_differs_as_often_from_itself_is_not_refused():
    result, _ = run(recheck_policy(STORED, "7"), lambda request: float(request.why.endswith((":1", ":3"))))
    assert result.differing == 5
    assert result.noise_differing == 10
    assert result.probability == pytest.approx(0.0565, abs=1e-3)
    assert not result.refused


@pytest.mark.parametrize(("differing", "refused"), [(1, False), (2, True), (5, True)])
def test_two_of_five_are_enough_where_the_agent_never_differs_from_itself(differing, refused):
    assert RecheckResult(compared=5, differing=differing, noise_compared=20).refused is refused


def test_missing_repeats_are_left_out():
    result, _ = run(recheck_policy(STORED, "7"), lambda request: None if request.task == "t0" else 1.0)
    assert result.compared == 4
    assert RecheckResult(compared=0, differing=0).sentence().startswith("No stored rollout could be repeated")


def test_nothing_stored_asks_for_nothing():
    result, asked = run(recheck_policy({}, "7"), lambda _request: 1.0)
    assert asked == []
    assert not result.refused
