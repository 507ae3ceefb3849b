"""The scheduler: lost rollouts, engines that grow, repeated crashes, and limits that failures use up."""

from collections import Counter
from dataclasses import dataclass, field

import anyio
import pytest
from worlds import TRIGGER, FakeTime, ToyAgent, ToyVerifier, World, no_workspace, plan

from skillsv.errors import AgentFailure, BudgetReached, Unavailable
from skillsv.model.events import Note, RolloutRetried
from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.engine import LocalEngine
from skillsv.rollout.pending import SUSPECT_LOSSES
from skillsv.rollout.run_control import RunnerOptions
from skillsv.rollout.scheduler import FORGIVEN_LOSSES
from skillsv.rollout.stop_rules import MaxAttempts, MaxSeconds


@dataclass
class LosingEngine(LocalEngine):
    """Loses each rollout the first `times` times."""

    times: int
    runs: Counter = field(default_factory=Counter)
    alone: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__(ToyAgent(), ToyVerifier(), workspace=no_workspace)

    async def run(self, job):
        self.runs[job.key] += 1
        self.alone[job.key] += job.alone
        if self.runs[job.key] <= self.times:
            failure = RolloutFailure(kind=FailureKind.CONNECTION, message="the node is gone", lost=True)
            return Rollout(key=job.key, task_id=job.task.id, score=None, failure=failure)
        return await super().run(job)


def chains():
    return [chain_policy(plan(index=index, rotate=index), TRIGGER) for index in range(3)]


def test_a_lost_rollout_runs_again_without_counting_as_an_attempt(tmp_path):
    expected = World(tmp_path / "calm").run(chains())
    engine = LosingEngine(FORGIVEN_LOSSES)
    world = World(tmp_path / "lossy", options=RunnerOptions(attempts=1), engine=engine)
    assert world.run(chains()) == expected
    assert set(engine.runs.values()) == {FORGIVEN_LOSSES + 1}
    assert set(engine.alone.values()) == {FORGIVEN_LOSSES + 1 - SUSPECT_LOSSES}, "it runs alone after the second loss"
    assert world.last.spending.spent == len(engine.runs)
    assert {event.kind for event in world.events if isinstance(event, RolloutRetried)} == {FailureKind.CONNECTION}


def test_a_rollout_that_kills_every_worker_is_given_up(tmp_path):
    engine = LosingEngine(10_000)
    with pytest.raises(Unavailable, match="the node is gone"):
        World(tmp_path, options=RunnerOptions(attempts=2), engine=engine).run(chains())
    assert max(engine.runs.values()) == FORGIVEN_LOSSES + 2


def test_no_more_rollouts_start_in_a_minute_than_allowed(tmp_path):
    expected = World(tmp_path / "free").run(chains())
    world = World(tmp_path / "held", options=RunnerOptions(per_minute=30.0))
    assert world.run(chains()) == expected
    started = sum(world.agent.calls.values())
    assert world.time.now == pytest.approx((started - 1) * 2.0, rel=1e-3)


class EngineWithMoreSlotsLater(LocalEngine):
    """Has one slot until a test sets another number."""

    def __init__(self, agent) -> None:
        super().__init__(agent, ToyVerifier(), workspace=no_workspace)
        self.current_slots = 1
        self.callbacks = []

    @property
    def slots(self):
        return self.current_slots

    def call_on_growth(self, callback):
        self.callbacks.append(callback)


def test_new_slots_are_used_before_a_running_rollout_ends(tmp_path):
    """The first rollout ends only after others have started: waiting for its end would wait for ever."""

    class WaitingAgent(ToyAgent):
        async def run(self, skill, task, replicate, workspace):
            outcome = super().run(skill, task, replicate, workspace)
            self.started = getattr(self, "started", 0) + 1
            if self.started == 1:
                engine.current_slots = 3
                anyio.lowlevel.current_token().native_token.call_soon(engine.callbacks[0])
                with anyio.fail_after(20):
                    while self.started < 3:
                        await anyio.lowlevel.checkpoint()
            return await outcome

    engine = EngineWithMoreSlotsLater(WaitingAgent())
    assert World(tmp_path / "growing", engine=engine).run(chains()) == World(tmp_path / "calm").run(chains())


def test_the_same_crash_on_three_tasks_ends_the_run_before_any_retry(tmp_path):
    def fault(task, call):
        raise AgentFailure(f"exit status 1: /tmp/work-{task}/run.sh: no module named yaml", kind="crash")

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=1))
    with pytest.raises(Unavailable, match=r"3 different tasks failed the same way.*no module named yaml") as ended:
        world.run(chains())
    assert ended.value.exit_code == 5
    assert "limit" not in str(ended.value)
    assert sum(world.agent.calls.values()) == 3


def test_a_pending_rollout_may_succeed_after_the_same_crash_on_others(tmp_path):
    class SlowAgent(ToyAgent):
        crashes = 0

        async def run(self, skill, task, replicate, workspace):
            if task.id != "t3" and self.crashes < 3:
                self.crashes += 1
                raise AgentFailure("connection reset by peer", kind="crash")
            with anyio.fail_after(20):
                while self.crashes < 3:
                    await anyio.lowlevel.checkpoint()
            return await super().run(skill, task, replicate, workspace)

    agent = SlowAgent()
    world = World(tmp_path / "flaky", agent=agent, options=RunnerOptions(jobs=4))
    assert world.run(chains()) == World(tmp_path / "calm").run(chains())
    assert agent.crashes == 3


def test_crashes_that_differ_are_retried(tmp_path):
    words = {"t0": "no disk", "t1": "no memory", "t2": "no module", "t3": "no network"}

    def fault(task, call):
        if call == 1:
            raise AgentFailure(words[task], kind="crash")

    world = World(tmp_path / "flaky", agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=1))
    assert world.run(chains()) == World(tmp_path / "calm").run(chains())


def test_a_rate_limit_on_every_task_does_not_end_the_run(tmp_path):
    def fault(task, call):
        if call < 3:
            raise AgentFailure("429 too many requests", kind="rate-limit")

    world = World(tmp_path / "busy", agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=1))
    assert world.run(chains()) == World(tmp_path / "calm").run(chains())


def test_runs_of_one_provider_share_the_rate_that_it_accepts(tmp_path):
    def refuse_once(task, call):
        if not refused:
            refused.append(task)
            raise AgentFailure("429 too many requests", kind="rate-limit")

    expected, refused = World(tmp_path / "calm").run(chains()), []
    first = World(tmp_path / "first", agent=ToyAgent(fault=refuse_once), options=RunnerOptions(jobs=1, provider="one"))
    assert first.run(chains()) == expected
    assert refused
    assert "rollouts a minute" in next(event.message for event in first.events if isinstance(event, Note))
    for provider, held in (("one", True), ("another", False)):
        world = World(tmp_path / provider, time=first.time, options=RunnerOptions(jobs=1, provider=provider))
        first.time.slept.clear()
        assert world.run(chains()) == expected
        assert bool(first.time.slept) is held


def test_a_limit_used_up_by_failures_does_not_advise_a_higher_limit(tmp_path):
    def fault(task, call):
        raise AgentFailure("no route to host", kind="connection")

    options = RunnerOptions(jobs=1, budget=MaxAttempts(4))
    with pytest.raises(Unavailable, match=r"4 of 4 attempts failed.*no route to host") as ended:
        World(tmp_path, agent=ToyAgent(fault=fault), options=options).run(chains())
    assert "raise the limit" not in str(ended.value)


def test_a_limit_used_up_mostly_by_failures_names_them(tmp_path):
    def fault(task, call):
        if task != "t0":
            raise AgentFailure("no route to host", kind="connection")

    options = RunnerOptions(jobs=1, budget=MaxAttempts(12))
    with pytest.raises(BudgetReached, match=r"attempts failed.*no route to host") as ended:
        World(tmp_path, agent=ToyAgent(fault=fault), options=options).run(chains())
    assert "raise the limit" not in str(ended.value)


@pytest.mark.parametrize("answered", [0, 30])
def test_a_limit_of_time_ends_a_wait_that_a_service_asks_for(tmp_path, answered):
    """A service that asks for a wait of a day must not hold a run of an hour."""
    calls = iter(range(10_000))

    def fault(task, call):
        if next(calls) >= answered:
            raise AgentFailure("slow down", kind="rate-limit", retry_after=86_400.0)

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=4, budget=MaxSeconds(3600.0)))
    with pytest.raises(BudgetReached, match="3,600 s"):
        world.run(chains())
    assert world.time.now == 3600.0


def test_a_limit_of_time_ends_a_wait_while_another_rollout_runs(tmp_path):
    """Nothing is queued then: only the end of the wait can notice the limit."""
    ended = anyio.Event()

    class Busy(ToyAgent):
        async def run(self, skill, task, replicate, workspace):
            if task.id == "t0":
                raise AgentFailure("slow down", kind="connection", retry_after=86_400.0)
            with anyio.fail_after(20):
                await ended.wait()
            return await super().run(skill, task, replicate, workspace)

    class Watched(FakeTime):
        async def sleep(self, seconds):
            await super().sleep(seconds)
            ended.set()

    options = RunnerOptions(jobs=8, budget=MaxSeconds(60.0))
    world = World(tmp_path, agent=Busy(), options=options, time=Watched())
    with pytest.raises(BudgetReached, match="60 s"):
        world.run(chains())
    assert world.time.now == 60.0
