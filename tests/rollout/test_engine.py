"""The local engine: a rollout ends with a score or a failure of a kind, never with an accidental 0."""

import contextlib
import errno
import math
from pathlib import Path

import anyio
import pytest
from worlds import ToyVerifier, no_workspace, render, tasks, units

from skillsv.errors import AgentFailure, RolloutError, SettingsError, VerifierFailure
from skillsv.model.rollout import FailureKind, Outcome, RolloutKey, Usage
from skillsv.model.usage_meter import report_usage
from skillsv.rollout.engine import MESSAGE_LIMIT, Job, LocalEngine

FULL = frozenset(units(3))


class Agent:
    """Answers with the result of `act`."""

    fingerprint = "act/1"

    def __init__(self, act=lambda: "1"):
        self.act = act
        self.seen = []

    async def run(self, skill, task, replicate, workspace):
        self.seen.append((skill, task, replicate, workspace))
        result = self.act()
        return Outcome(answer=await result if hasattr(result, "__await__") else result, usage=Usage(usd=0.5))


class FixedVerifier:
    def __init__(self, score):
        self.value = score

    async def score(self, task, outcome, workspace):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


def job(coalition=FULL, timeout=None, replicate=0):
    task = tasks(1)["t0"]
    key = RolloutKey(tree="x", task=task.digest, agent="act/1", replicate=replicate)
    return Job(key=key, skill=render(coalition, "delete", FULL), task=task, timeout=timeout)


def execute(agent, verifier=None, *, clock=None, workspace=no_workspace, **how):
    more = {} if clock is None else {"clock": clock}
    engine = LocalEngine(agent, verifier or ToyVerifier(), workspace=workspace, **more)

    async def go():
        async with engine:
            return await engine.run(job(**how))

    return anyio.run(go)


def raising(error):
    def act():
        raise error

    return Agent(act)


def test_a_score_comes_with_answer_usage_and_key():
    rollout = execute(Agent(lambda: "0.25"), replicate=3)
    assert (rollout.score, rollout.failure, rollout.answer, rollout.usage.usd) == (0.25, None, "0.25", 0.5)
    assert rollout.key.replicate == 3


def test_what_a_failed_agent_spent_is_kept():
    paid = Usage(input_tokens=300, output_tokens=21, usd=0.1)
    failure = AgentFailure("overloaded.", kind="overload", usage=paid)
    for error in (failure, ExceptionGroup("wrapped by a task group", [failure])):
        rollout = execute(raising(error))
        assert (rollout.score, rollout.failure.kind, rollout.usage) == (None, FailureKind.OVERLOAD, paid)
    assert execute(raising(AgentFailure("gone."))).usage == Usage(), "unknown, not nothing"


def test_the_bare_agent_gets_no_skill_at_all():
    bare, full = Agent(), Agent()
    execute(bare, coalition=frozenset())
    execute(full)
    assert bare.seen[0][0] is None
    assert full.seen[0][0].text == "m u1 u2"


def test_every_rollout_has_an_empty_workspace_that_is_removed():
    from skillsv.sandbox.workspace import fresh_workspace

    class WritingAgent(Agent):
        async def run(self, skill, task, replicate, workspace):
            assert list(workspace.iterdir()) == []
            (workspace / "left").write_text("behind")
            return await super().run(skill, task, replicate, workspace)

    agent = WritingAgent()
    for _ in range(2):
        assert execute(agent, workspace=fresh_workspace).failure is None
    assert not any(seen[3].exists() for seen in agent.seen)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AgentFailure("busy", kind="rate-limit", retry_after=7.0), FailureKind.RATE_LIMIT),
        (RolloutError("odd", kind="no such kind"), FailureKind.CRASH),
        (ExceptionGroup("several", [AgentFailure("inner", kind="refusal")]), FailureKind.REFUSAL),
        (ZeroDivisionError("division"), FailureKind.CRASH),
        (MemoryError(), FailureKind.CRASH),
        (SystemExit(3), FailureKind.CRASH),
        (TimeoutError("its own"), FailureKind.TIMEOUT),
        (ConnectionResetError("peer"), FailureKind.CONNECTION),
        (OSError(errno.ENOSPC, "No space left on device"), FailureKind.DISK),
        (OSError(errno.EPERM, "Not permitted"), FailureKind.CRASH),
    ],
)
def test_an_exception_of_an_agent_is_a_failure_of_its_kind(error, kind):
    rollout = execute(raising(error))
    assert rollout.score is None
    assert rollout.failure.kind is kind
    assert rollout.failure.retry_after == getattr(error, "retry_after", None)


def test_a_long_failure_message_is_cut():
    assert len(execute(raising(ValueError("x" * 100_000))).failure.message) == MESSAGE_LIMIT


def test_an_error_about_the_run_is_not_a_failure_of_the_rollout():
    with pytest.raises(SettingsError):
        execute(raising(SettingsError("no key.")))


def test_an_agent_that_hangs_is_cancelled_at_its_timeout():
    ended = []

    async def hang():
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    rollout = execute(Agent(hang), timeout=0.01)
    assert rollout.failure.kind is FailureKind.TIMEOUT
    assert "t0" in rollout.failure.message
    assert ended == [True]


@pytest.mark.parametrize("score", [7, -0.1, math.nan, math.inf, "1", None])
def test_an_invalid_score_is_a_failure_and_the_answer_is_kept(score):
    rollout = execute(Agent(lambda: "paid for"), FixedVerifier(score))
    assert rollout.score is None
    assert rollout.failure.kind is FailureKind.VERIFIER
    assert repr(score) in rollout.failure.message
    assert (rollout.answer, rollout.usage.usd) == ("paid for", 0.5)


def test_a_verifier_failure_keeps_the_usage_of_the_agent():
    rollout = execute(Agent(lambda: "paid for"), FixedVerifier(VerifierFailure("no tests found")))
    assert (rollout.failure.kind, rollout.usage.usd) == (FailureKind.VERIFIER, 0.5)


def test_a_verifier_that_crashes_is_not_a_wrong_answer():
    assert execute(Agent(), FixedVerifier(RuntimeError("boom"))).failure.kind is FailureKind.VERIFIER


@pytest.mark.parametrize("score", [0, 1, True, 0.5])
def test_numbers_between_0_and_1_are_scores(score):
    assert execute(Agent(), FixedVerifier(score)).score == float(score)


def test_a_clock_that_jumps_back_gives_no_negative_duration():
    times = iter([1000.0, 3.0])
    assert execute(Agent(), clock=lambda: next(times)).duration == 0.0


def test_a_workspace_that_cannot_be_made_is_a_failure():
    class NoRoom:
        async def __aenter__(self):
            raise OSError(errno.ENOSPC, "No space left on device")

        async def __aexit__(self, *_):
            return None

    assert execute(Agent(), workspace=lambda task: NoRoom()).failure.kind is FailureKind.DISK


def test_a_job_can_be_pickled():
    import pickle

    sent = job()
    assert pickle.loads(pickle.dumps(sent)) == sent


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOTEMPTY, "not empty"), RecursionError("too deep"), SettingsError("x")]
)
def test_a_paid_score_survives_an_error_while_the_workspace_is_removed(error):
    @contextlib.asynccontextmanager
    async def stubborn(task):
        yield Path()
        raise error

    rollout = execute(Agent(), FixedVerifier(0.5), workspace=stubborn)
    assert (rollout.score, rollout.failure, rollout.usage.usd) == (0.5, None, 0.5)


def test_a_paid_score_survives_a_timeout_while_the_workspace_is_removed():
    @contextlib.asynccontextmanager
    async def slow(task):
        yield Path()
        await anyio.sleep_forever()

    rollout = execute(Agent(), FixedVerifier(0.5), workspace=slow, timeout=0.2)
    assert (rollout.score, rollout.failure) == (0.5, None)


class Judged:
    """A verifier that asks a judge, twice where its first answer is unusable."""

    def __init__(self, faults=0):
        self.faults = faults

    async def score(self, task, outcome, workspace):
        report_usage(Usage(input_tokens=10, output_tokens=1, usd=0.25))
        if self.faults:
            self.faults -= 1
            raise VerifierFailure("no ruling")
        return 1.0


@pytest.mark.parametrize(("faults", "calls"), [(0, 1), (1, 2), (9, 3)])
def test_what_a_judge_uses_is_counted_also_where_it_fails(faults, calls):
    rollout = execute(Agent(), Judged(faults))
    assert rollout.usage == Usage(input_tokens=10 * calls, output_tokens=calls, usd=0.5 + 0.25 * calls)


def test_the_cost_stays_unknown_where_only_the_judge_reports_it():
    class Silent(Agent):
        async def run(self, skill, task, replicate, workspace):
            return Outcome(answer="1")

    assert execute(Silent(), Judged()).usage == Usage(input_tokens=10, output_tokens=1, usd=None)
