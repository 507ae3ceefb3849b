"""Chains in waves: noise that the first repeats miss, resumed runs, finished chains of an earlier version."""

from functools import partial

import anyio
import pytest

from skillsv.errors import BudgetReached
from skillsv.model.coalition import ChainPlan, Operator
from skillsv.model.task import TaskWindow
from skillsv.pipeline.chain_waves import ChainWaves
from skillsv.rollout import chain_policy
from skillsv.rollout.chain_repeats import prefixes_to_repeat

UNITS = [f"u{number}" for number in range(1, 12)]
TASKS = tuple(f"t{number}" for number in range(8))
PLANS = [
    ChainPlan(
        index=index,
        order=("m", *UNITS[index:], *UNITS[:index]),
        window=TaskWindow(tasks=TASKS),
        operators=(Operator.DELETE,),
        tolerance=None,
    )
    for index in range(10)
]


class FakeRunner:
    """Runs policies one after another. `score` is the agent; `most` limits the number of paid rollouts."""

    def __init__(self, score, most=10**9):
        self.score, self.most, self.ledger = score, most, {}

    async def run_policies(self, policies, on_result=None):
        return [self.run(index, policy, on_result) for index, policy in enumerate(policies)]

    def run(self, index, policy, on_result):
        try:
            requests = next(policy)
            while True:
                requests = policy.send({request: self.answer(request) for request in requests})
        except StopIteration as end:
            if on_result is not None:
                on_result(index, end.value)
            return end.value

    def answer(self, request):
        key = request.coalition, request.task, request.replicate
        if key not in self.ledger:
            if len(self.ledger) >= self.most:
                raise BudgetReached("enough.")
            self.ledger[key] = self.score(request)
        return self.ledger[key]


def steady(request):
    return float(len(request.coalition) > 6)


def noisy_between_the_checked_sizes(request):
    """An agent whose noise the repeats before the first chain cannot see: they do not have these sizes."""
    checked = {0, len(UNITS) + 1, *(len(place.coalition) for place in prefixes_to_repeat(PLANS, 1))}
    return float(len(request.coalition) not in checked and request.replicate > 0)


def run(runner, stored=None, plans=PLANS):
    notes, records = [], {}
    chains = ChainWaves(
        runner=runner,
        plans=plans,
        seed=1,
        stored=stored or {},
        make_policy=partial(chain_policy, trigger="m"),
        keep_chain=lambda _, record: records.update({record.plan.index: record.plan.replicate}),
        note=notes.append,
    )
    try:
        anyio.run(chains.run)
    finally:
        run.notes, run.replicates = notes, records
    return notes, [records[plan.index] for plan in plans]


def test_chains_of_a_steady_agent_share_answers_and_the_note_says_what_was_checked():
    (note,), replicates = run(FakeRunner(steady))
    assert set(replicates) == {0}
    assert "on 8 tasks with partial skills of" in note
    assert "no score changed" in note
    assert note.endswith("The agent is taken to be deterministic, and chains share answers.")


def test_noise_before_the_first_chain_gives_every_chain_its_own_replicate():
    (note,), replicates = run(FakeRunner(lambda request: float(request.replicate)))
    assert replicates == list(range(10))
    assert note.endswith("so every chain runs its own replicates.")


def test_noise_found_after_a_wave_gives_later_chains_their_own_replicates():
    (note,), replicates = run(FakeRunner(noisy_between_the_checked_sizes))
    assert replicates == [0, 0, 0, 0, 4, 5, 6, 7, 8, 9]
    assert "4 chains had been run before this was known and share answers; the intervals allow for it." in note


@pytest.mark.parametrize("score", [steady, noisy_between_the_checked_sizes])
@pytest.mark.parametrize("most", [60, 300, 500, 700])
def test_an_interrupted_run_resumes_on_the_same_path(score, most):
    whole = FakeRunner(score)
    expected = run(whole)
    runner = FakeRunner(score, most)
    with pytest.raises(BudgetReached):
        run(runner)
    assert len(run.notes) == 1, "the finding is noted when a run ends early, too"
    runner.most = 10**9
    assert run(runner, stored=run.replicates) == expected
    assert runner.ledger == whole.ledger, "nothing was paid for that the whole run does not need"


def test_finished_chains_of_an_earlier_version_keep_their_replicate():
    (note,), replicates = run(FakeRunner(lambda request: float(request.replicate)), stored={0: 0, 1: 0, 2: 0})
    assert replicates == [0, 0, 0, 3, 4, 5, 6, 7, 8, 9]
    assert "3 chains had been run before this was known and share answers" in note
