"""Replicates of confirmations and pair tests: the check repeats what is scored anyway."""

import anyio
import pytest

from skillsv.pipeline.replicates import REPEATED, choose_replicates, count_repeats

COALITIONS = [frozenset(), frozenset({"m"}), frozenset({"m", "a"}), frozenset({"m", "a", "b"})]
TASKS = [f"t{number}" for number in range(10)]


class FakeRunner:
    """Answers by a rule from a request to a score."""

    def __init__(self, score):
        self.score, self.requests = score, ()

    async def run_policies(self, policies):
        (policy,) = policies
        self.requests = next(policy)
        try:
            policy.send({request: self.score(request) for request in self.requests})
        except StopIteration as end:
            return [end.value]


def choose(score, **more):
    runner = FakeRunner(score)
    chosen = anyio.run(lambda: choose_replicates(runner, COALITIONS, TASKS, seed=1, **{"given": None, **more}))
    return *chosen, runner.requests


def test_a_steady_agent_gets_one_replicate_and_the_check_has_many_sizes_and_tasks():
    replicates, notes, requests = choose(lambda request: float(len(request.coalition) > 1))
    assert (replicates, notes) == (1, ())
    assert len(requests) == 2 * REPEATED
    assert {request.coalition for request in requests} == set(COALITIONS)
    assert len({request.task for request in requests}) >= 6


@pytest.mark.parametrize("size", range(4))
def test_noise_at_any_size_of_coalition_is_found(size):
    replicates, notes, _ = choose(lambda request: float(len(request.coalition) == size and request.replicate == 1))
    assert replicates == 3
    assert "Every score is the mean of 3 replicates." in notes[0]


def test_a_number_that_was_given_is_taken_without_a_check():
    assert choose(lambda _: 1.0, given=2) == (2, (), ())
    assert count_repeats(4, 10, given=2) == 0


@pytest.mark.parametrize(("coalitions", "tasks"), [(4, 10), (2, 3)])
def test_the_check_costs_at_most_its_forecast(coalitions, tasks):
    assert count_repeats(coalitions, tasks, given=None) == min(REPEATED, coalitions * tasks)
