"""Attacks on the budget by a verifier that is slow, crashes or is refused: the answer is paid for once.

The agent counts how often it is asked for the same rollout.
"""

import anyio
import pytest

from skillsv.errors import AgentFailure, RolloutError, VerifierFailure
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import FailureKind, Outcome, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.rollout.engine import BUSY_ATTEMPTS, VERIFIER_ATTEMPTS, Job, LocalEngine


class PaidAgent:
    fingerprint = "paid/1"

    def __init__(self):
        self.calls = 0

    async def run(self, _skill, _task, _replicate, _workspace):
        self.calls += 1
        return Outcome(answer="paid for", usage=Usage(usd=0.5))


class TroubledVerifier:
    """Fails the first `failures` calls in the given way, then scores 1."""

    def __init__(self, trouble, failures):
        self.trouble = trouble
        self.failures = failures
        self.calls = 0

    async def score(self, _task, outcome, _workspace):
        assert outcome.answer == "paid for"
        self.calls += 1
        if self.calls > self.failures:
            return 1.0
        if self.trouble == "hang":
            await anyio.sleep_forever()
        raise self.trouble


def rollout(verifier, timeout=600.0):
    agent, waits = PaidAgent(), []

    async def sleep(seconds):
        waits.append(seconds)

    bare = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="", files=(), digest="0")
    key = RolloutKey(tree="0", task="t", agent=agent.fingerprint)
    job = Job(key=key, skill=bare, task=Task(id="t", input="?"), timeout=timeout)
    done = anyio.run(LocalEngine(agent, verifier, sleep=sleep).run, job)
    assert agent.calls == 1
    assert (done.answer, done.usage.usd) == ("paid for", 0.5)
    return done, waits


TROUBLES = [
    "hang",
    VerifierFailure("no tests found"),
    RuntimeError("boom"),
    TimeoutError("its own"),
    OSError(28, "No space left on device"),
    RolloutError("no sandbox", kind="sandbox"),
    AgentFailure("the judge is silent", kind="timeout"),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=repr)
def test_verifier_that_fails_once_is_called_again_with_the_same_answer(trouble):
    done, waits = rollout(TroubledVerifier(trouble, 1), timeout=0.2 if trouble == "hang" else 600.0)
    assert (done.score, done.failure, waits) == (1.0, None, [])


@pytest.mark.parametrize("trouble", TROUBLES, ids=repr)
def test_verifier_that_always_fails_ends_the_rollout_without_another_paid_answer(trouble):
    verifier = TroubledVerifier(trouble, 1000)
    done, _ = rollout(verifier, timeout=0.05 if trouble == "hang" else 600.0)
    assert done.failure.kind is FailureKind.VERIFIER
    assert not done.failure.kind.worth_retrying
    assert verifier.calls == VERIFIER_ATTEMPTS
    if trouble == "hang":
        assert done.failure.message == "the verifier of task t did not return within 0.05 s."


@pytest.mark.parametrize("kind", ["rate-limit", "overload", "connection"])
def test_busy_judge_is_called_again_after_a_wait(kind):
    done, waits = rollout(TroubledVerifier(AgentFailure("slow down", kind=kind, retry_after=7.0), 2))
    assert done.score == 1.0
    assert len(waits) == 2
    assert min(waits) >= 7.0


def test_judge_that_stays_busy_ends_the_rollout_without_another_paid_answer():
    verifier = TroubledVerifier(AgentFailure("slow down", kind="rate-limit"), 1000)
    done, waits = rollout(verifier)
    assert done.failure.kind is FailureKind.VERIFIER
    assert "slow down" in done.failure.message
    assert (verifier.calls, len(waits)) == (BUSY_ATTEMPTS, BUSY_ATTEMPTS - 1)


def test_judge_that_asks_for_a_longer_wait_than_the_rollout_has_is_not_waited_for():
    verifier = TroubledVerifier(AgentFailure("come back tomorrow", kind="rate-limit", retry_after=86400.0), 1000)
    done, waits = rollout(verifier)
    assert "come back tomorrow" in done.failure.message
    assert (verifier.calls, waits) == (1, [])


def test_request_that_a_judge_refuses_is_not_repeated():
    verifier = TroubledVerifier(AgentFailure("too long", kind="context-overflow"), 1000)
    done, _ = rollout(verifier)
    assert done.failure.kind is FailureKind.VERIFIER
    assert verifier.calls == 1


def test_slow_agent_and_slow_verifier_have_a_time_limit_each():
    class SlowAgent(PaidAgent):
        async def run(self, *arguments):
            await anyio.sleep_forever()

    bare = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="", files=(), digest="0")
    key = RolloutKey(tree="0", task="t", agent="paid/1")
    job = Job(key=key, skill=bare, task=Task(id="t", input="?"), timeout=0.05)
    done = anyio.run(LocalEngine(SlowAgent(), TroubledVerifier("hang", 0)).run, job)
    assert done.failure.kind is FailureKind.TIMEOUT
    assert done.failure.message == "no answer to task t within 0.05 s."
