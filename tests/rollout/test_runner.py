"""The runner: each rollout is paid once, a failure is not a score of 0, limits hold, and nothing is lost."""

import os
import random
import signal
import threading
from dataclasses import replace
from itertools import cycle, pairwise

import anyio
import pytest
from worlds import TRIGGER, FakeTime, ToyAgent, ToyVerifier, World, plan, tasks, units

from skillsv.errors import (
    AgentFailure,
    BudgetReached,
    Interrupted,
    LedgerError,
    SettingsError,
    TaskError,
    Unavailable,
)
from skillsv.model.events import ChainFinished, Note, RolloutFinished, RolloutRetried
from skillsv.model.rollout import Ending, FailureKind, Request, RequestBatch, Usage
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.run_control import RunnerOptions, Stop, stop_on_signals
from skillsv.rollout.stop_rules import MaxAttempts, MaxDollars, MaxSeconds, MaxTokens, budget


def chains(count=5, **how):
    return [chain_policy(plan(index=index, rotate=index, **how), TRIGGER) for index in range(count)]


def events(world, kind):
    return [event for event in world.events if isinstance(event, kind)]


@pytest.fixture
def expected(tmp_path):
    """What an undisturbed run of `chains()` gives."""
    return World(tmp_path / "undisturbed").run(chains())


def ask(*requests):
    """A policy that wants these and returns their scores."""
    answers = yield tuple(requests)
    return [answers[request] for request in requests]


def request(task="t0", coalition=("m",), **change):
    return Request(**({"coalition": frozenset(coalition), "operator": "delete", "task": task} | change))


def test_results_keep_the_order_of_policies_and_rollouts_run_once(tmp_path):
    world = World(tmp_path)
    records = world.run(chains())
    assert [record.plan.index for record in records] == [0, 1, 2, 3, 4]
    assert set(world.agent.calls.values()) == {1}
    assert world.last.spending.spent == sum(world.agent.calls.values())
    finished = events(world, RolloutFinished)
    assert sum(not event.reused for event in finished) == world.last.spending.spent
    assert sum(event.reused for event in finished) == world.last.spending.reused > 0
    assert len(events(world, ChainFinished)) == 5


def test_a_second_run_pays_nothing_and_gives_the_same_records(tmp_path, expected):
    first, second = World(tmp_path), World(tmp_path)
    assert first.run(chains()) == expected
    assert second.run(chains()) == expected
    assert not second.agent.calls
    assert second.last.spending.spent == 0


def test_another_agent_or_task_text_or_replicate_is_another_rollout(tmp_path):
    first = World(tmp_path)
    first.run(chains(1))
    paid = len(first.agent.calls)
    other_agent = World(tmp_path, agent=ToyAgent(fingerprint="toy/2"))
    other_agent.run(chains(1))
    assert len(other_agent.agent.calls) == paid
    edited = tasks(4) | {"t1": replace(tasks(4)["t1"], digest="edited")}
    other_task = World(tmp_path, tasks=edited)
    other_task.run(chains(1))
    assert {task for _, task, _ in other_task.agent.calls} == {"t1"}
    again = World(tmp_path)
    again.run([chain_policy(replace(plan(), replicate=1), TRIGGER)])
    assert len(again.agent.calls) == paid


def test_after_an_edit_only_renderings_that_changed_are_paid_for(tmp_path):
    first = World(tmp_path)
    first.run(chains())
    edited = World(tmp_path, edited="u3")
    edited.run(chains())
    renderings = {
        (event.tree, event.task) for event in edited.events if isinstance(event, RolloutFinished) and not event.reused
    }
    assert set(edited.agent.calls).isdisjoint(first.agent.calls)
    assert 0 < len(renderings) == sum(edited.agent.calls.values()) < len(first.agent.calls)
    back = World(tmp_path)
    back.run(chains())
    assert not back.agent.calls, "taking the edit back costs nothing"


def test_requests_ahead_start_before_they_are_awaited_and_are_paid_once(tmp_path):
    first, later = request("t0"), [request(task) for task in ("t1", "t2", "t3")]

    def policy():
        answers = dict((yield RequestBatch([first], ahead=later)))
        answers |= yield RequestBatch(later[:1])
        answers |= yield tuple(later[1:])
        return answers

    world = World(tmp_path, agent=ToyAgent(seconds=0.01))
    (answers,) = world.run([policy()])
    assert world.agent.peak == 4, "all four ran at the same time"
    assert list(answers) == [first, *later]
    assert (world.last.spending.spent, world.last.spending.reused) == (4, 0)
    again = World(tmp_path)
    assert again.run([policy()]) == [answers]
    assert (again.last.spending.spent, again.last.spending.reused) == (0, 4)


def test_exactly_as_many_rollouts_as_jobs_run_at_once(tmp_path):
    world = World(tmp_path, options=RunnerOptions(jobs=3))
    world.run(chains())
    assert world.agent.peak == 3


def test_an_engine_gets_no_more_jobs_than_it_has_slots(tmp_path):
    world = World(tmp_path, options=RunnerOptions(jobs=8))

    async def go():
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            runner = world.runner(ledger)
            type(runner._scheduler._engine).slots = property(lambda self: 2)
            try:
                await runner.run_policies(chains())
            finally:
                type(runner._scheduler._engine).slots = property(lambda self: None)

    anyio.run(go)
    assert world.agent.peak == 2


def test_tasks_of_one_rendering_run_together(tmp_path):
    order = []
    world = World(tmp_path, options=RunnerOptions(jobs=1))
    world.on_event = lambda event: order.append(event.tree) if isinstance(event, RolloutFinished) else None
    world.run(chains(1))
    changes = sum(one != other for one, other in pairwise(order))
    assert changes == len(set(order)) - 1


def test_the_first_of_each_rendering_starts_before_the_others(tmp_path):
    one, other = ("m",), ("m", "u1")
    wanted = [request("t0", one), request("t1", one), request("t2", other), request("t3", other)]
    world = World(tmp_path, options=RunnerOptions(jobs=2))
    world.run([ask(*wanted)])
    assert [task for _, task, _ in world.agent.calls] == ["t0", "t2", "t1", "t3"]


@pytest.mark.parametrize("seed", range(3))
def test_faults_in_a_fifth_of_all_calls_change_no_value(tmp_path, expected, seed):
    rng = random.Random(seed)
    kinds = ["timeout", "crash", "rate-limit", "overload", "connection", "sandbox"]

    def fault(task, call):
        if rng.random() < 0.2:
            raise AgentFailure("flaky", kind=rng.choice(kinds), retry_after=rng.choice([None, 3.0]))

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(attempts=12))
    assert world.run(chains()) == expected
    retried = events(world, RolloutRetried)
    assert len(retried) == sum(world.agent.calls.values()) - world.last.spending.spent > 10
    assert world.last.spending.failed == 0
    assert max(world.time.slept) > 0


def test_a_task_that_always_fails_is_missing_and_never_zero(tmp_path, expected):
    def fault(task, call):
        if task == "t2":
            raise AgentFailure("down", kind="crash")

    options = RunnerOptions(jobs=1, attempts=3, max_missing=1.0)
    world = World(tmp_path, agent=ToyAgent(fault=fault), options=options)
    records = world.run(chains())
    for record, complete in zip(records, expected, strict=True):
        assert record.full[2] is None
        assert record.full[:2] + record.full[3:] == complete.full[:2] + complete.full[3:]
        assert {step.scores[2] for step in record.steps} == {None}
    assert {count for key, count in world.agent.calls.items() if key[1] == "t2"} == {3}, "given up once per run"
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.failures() == {FailureKind.CRASH: world.last.spending.failed}
    later = World(tmp_path)
    assert later.run(chains()) == expected, "a later run tries the missing rollouts again"
    assert {task for _, task, _ in later.agent.calls} == {"t2"}


def test_a_failure_that_no_retry_can_repair_is_not_retried(tmp_path):
    def fault(task, call):
        if task == "t0":
            raise AgentFailure("too long", kind="context-overflow")

    world = World(tmp_path, agent=ToyAgent(fault=fault))
    assert world.run([ask(request(), request("t1"))]) == [[None, 0.0]]
    assert set(world.agent.calls.values()) == {1}


def test_waits_double_with_jitter_and_respect_retry_after(tmp_path):
    def fault(task, call):
        if call < 5:
            raise AgentFailure("busy", kind="crash", retry_after=100.0 if call == 4 else None)

    waits = []
    for place in ("a", "b"):
        world = World(tmp_path / place, agent=ToyAgent(fault=fault))
        world.run([ask(request())])
        waits.append(world.time.slept)
    assert waits[0] == waits[1]
    assert [0.5 * 2**turn <= wait <= 1.5 * 2**turn for turn, wait in enumerate(waits[0][:3])] == [True] * 3
    assert waits[0][3] == 100.0


def test_overload_halves_the_concurrency_and_successes_restore_it(tmp_path):
    peaks = []
    limited = {"on": True}

    def fault(task, call):
        peaks.append(world.agent.active)
        if limited["on"] and world.agent.active > 2:
            raise AgentFailure("slow down", kind="overload", retry_after=5.0)
        if len(peaks) > 150:
            limited["on"] = False

    world = World(tmp_path, options=RunnerOptions(jobs=16, attempts=30))
    world.agent.fault = fault
    world.n, world.b = 8, 8
    world.run([chain_policy(plan(n=8, b=8, index=index, rotate=index), TRIGGER) for index in range(7)])
    assert max(peaks[:16]) == 16
    assert max(peaks[60:150]) <= 6
    assert max(peaks[150:]) >= 6
    assert any("fewer requests" in event.message for event in events(world, Note))
    assert world.last.spending.failed == 0


@pytest.mark.parametrize(
    ("limit", "usage", "most"),
    [
        (MaxAttempts(30), Usage(), 30),
        (MaxTokens(3000), Usage(input_tokens=90, output_tokens=10), 34),
        (MaxDollars(0.30), Usage(usd=0.01), 34),
        (budget(rollouts=30, usd=99.0, seconds=9e9), Usage(usd=0.01), 30),
        (MaxAttempts(10) & MaxAttempts(30), Usage(), 30),
        (MaxAttempts(10) | MaxAttempts(30), Usage(), 10),
    ],
)
def test_a_budget_ends_the_run_with_everything_saved(tmp_path, limit, usage, most):
    world = World(tmp_path, agent=ToyAgent(usage=usage), options=RunnerOptions(jobs=4, budget=limit))
    done = []
    with pytest.raises(BudgetReached, match="used up"):
        world.run(chains(), on_result=lambda index, record: done.append(index))
    spent = sum(world.agent.calls.values())
    assert most - 4 <= spent <= most
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.summary().scored == spent
    rest = World(tmp_path)
    rest.run(chains())
    assert not set(rest.agent.calls) & set(world.agent.calls)


def test_a_budget_that_just_suffices_does_not_end_the_run(tmp_path):
    free = World(tmp_path / "free")
    free.run(chains())
    exact = World(tmp_path / "exact", options=RunnerOptions(budget=MaxAttempts(free.last.spending.spent)))
    assert len(exact.run(chains())) == 5


def test_earlier_chains_finish_before_the_budget_ends(tmp_path):
    world = World(tmp_path, options=RunnerOptions(jobs=2, budget=MaxAttempts(120)))
    done = []
    with pytest.raises(BudgetReached):
        world.run(chains(), on_result=lambda index, record: done.append(index))
    assert done[:2] == [0, 1]


def test_a_time_budget_ignores_backward_jumps_of_the_clock(tmp_path):
    jumps = cycle([10.0, -3.0, 10.0, -5000.0])

    class Jumping(FakeTime):
        def clock(self):
            self.now += next(jumps)
            return self.now

    world = World(tmp_path, time=Jumping(), options=RunnerOptions(jobs=1, budget=MaxSeconds(1000.0)))
    with pytest.raises(BudgetReached, match="1,000 s"):
        world.run(chains(20, n=20))
    assert 150 <= sum(world.agent.calls.values()) <= 300, "a few readings of the clock make ten seconds"


def test_a_clock_that_only_runs_backward_uses_no_time_budget(tmp_path, expected):
    class Falling(FakeTime):
        def clock(self):
            self.now -= 1000.0
            return self.now

    world = World(tmp_path, time=Falling(), options=RunnerOptions(budget=MaxSeconds(1.0)))
    assert world.run(chains()) == expected


def test_the_first_interrupt_lets_started_rollouts_finish(tmp_path, expected):
    world = World(tmp_path, options=RunnerOptions(jobs=4))

    def on_event(event):
        if len(world.events) == 30:
            world.stop.request()

    world.on_event = on_event
    with pytest.raises(Interrupted, match="resumes"):
        world.run(chains())
    started = sum(world.agent.calls.values())
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.summary().scored == started
    assert started < 60
    rest = World(tmp_path)
    assert rest.run(chains()) == expected
    assert not set(rest.agent.calls) & set(world.agent.calls)


def test_the_second_interrupt_cancels_rollouts_and_saves_finished_ones(tmp_path, expected):
    world = World(tmp_path, options=RunnerOptions(jobs=4))

    def on_event(event):
        if len(world.events) == 30:
            world.agent.seconds = 3600.0
            world.agent.fault = interrupt_twice

    def interrupt_twice(task, call):
        pytest.fail("a cancelled agent came to its end")

    async def go():
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            runner = world.runner(ledger)
            async with anyio.create_task_group() as group:
                group.start_soon(press_twice)
                with pytest.raises(Interrupted):
                    await runner.run_policies(chains())

    async def press_twice():
        while world.agent.seconds == 0.0 or world.agent.active < 4:
            await anyio.lowlevel.checkpoint()
        world.stop.request()
        world.stop.request()

    world.on_event = on_event
    anyio.run(go)
    assert world.agent.active == 0
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        saved = ledger.summary().scored
    assert saved == sum(not event.reused for event in events(world, RolloutFinished))
    rest = World(tmp_path)
    assert rest.run(chains()) == expected
    assert sum(rest.agent.calls.values()) + saved == len(set(rest.agent.calls) | set(world.agent.calls))


def test_a_cancelled_run_saves_finished_rollouts(tmp_path):
    world = World(tmp_path, options=RunnerOptions(jobs=1))

    class Cancelling(ToyVerifier):
        async def score(self, task, outcome, workspace):
            if sum(world.agent.calls.values()) == 10:
                scope.cancel()
            return await super().score(task, outcome, workspace)

    world.verifier = Cancelling()

    async def go():
        nonlocal scope
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger, anyio.CancelScope() as scope:
            await world.runner(ledger).run_policies(chains())

    scope = None
    anyio.run(go)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.summary().scored == sum(world.agent.calls.values()) == 10


def test_a_run_stopped_before_its_start_answers_from_the_ledger(tmp_path, expected):
    World(tmp_path).run(chains(2))
    world = World(tmp_path)
    world.stop.request()
    assert world.run(chains(2)) == expected[:2]
    world = World(tmp_path)
    world.stop.request()
    with pytest.raises(Interrupted):
        world.run(chains(3))
    assert not world.agent.calls


def test_an_agent_that_never_answers_ends_the_run_as_unavailable(tmp_path):
    def fault(task, call):
        raise AgentFailure("no route to host", kind="connection")

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=2, attempts=2))
    with pytest.raises(Unavailable, match="no route to host") as ended:
        world.run(chains())
    assert ended.value.exit_code == 5
    assert sum(world.agent.calls.values()) <= 2 * 8


def test_too_many_missing_rollouts_end_the_run_and_all_are_saved(tmp_path):
    def fault(task, call):
        if task == "t1":
            raise AgentFailure("bad sector", kind="disk")

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=4, attempts=2))
    with pytest.raises(Unavailable, match=r"of \d+ rollouts have no score"):
        world.run(chains())
    spending = world.last.spending
    assert 20 <= spending.spent + spending.failed <= 30
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert (ledger.summary().scored, ledger.summary().missing) == (spending.spent, spending.failed)


def test_a_small_run_without_any_score_is_unavailable(tmp_path):
    def fault(task, call):
        raise AgentFailure("no key", kind="bad-request")

    world = World(tmp_path, agent=ToyAgent(fault=fault))
    with pytest.raises(Unavailable, match="no key"):
        world.run([ask(*(request(f"t{index}") for index in range(4)))])


def test_an_error_of_the_run_is_raised_and_finished_rollouts_are_kept(tmp_path):
    def fault(task, call):
        if task == "t3":
            raise SettingsError("the key is missing.", hint="Set it.")

    world = World(tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(jobs=1))
    with pytest.raises(SettingsError, match="key is missing"):
        world.run(chains())
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert ledger.summary().scored == 3


def test_a_ledger_that_cannot_be_written_stops_the_run(tmp_path):
    world = World(tmp_path, options=RunnerOptions(jobs=2))

    async def go():
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            runner = world.runner(ledger)
            save = ledger.record

            def fill_up(*rollouts, run=""):
                if len(world.events) > 20:
                    raise LedgerError("the disk is full.", where="ledger.sqlite")
                save(*rollouts, run=run)

            ledger.record = fill_up
            await runner.run_policies(chains())

    with pytest.raises(LedgerError, match="disk is full"):
        anyio.run(go)
    assert sum(world.agent.calls.values()) < 40


def test_one_runner_runs_several_groups_of_policies(tmp_path, expected):
    world = World(tmp_path)

    async def go():
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            runner = world.runner(ledger)
            first = await runner.run_policies([ask(request(coalition=()), request(coalition=units(6)))])
            second = await runner.run_policies(chains())
            third = await runner.run_policies(chains(2))
            return first, second, third

    _, second, third = anyio.run(go)
    assert (second, third) == (expected, expected[:2])
    assert set(world.agent.calls.values()) == {1}


def test_a_runner_can_be_used_again_after_an_error(tmp_path, expected):
    world = World(tmp_path)

    def broken():
        yield (request(), request("t1"))
        raise ZeroDivisionError

    async def go():
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            runner = world.runner(ledger)
            with pytest.raises(ZeroDivisionError):
                await runner.run_policies([broken(), *chains()])
            return await runner.run_policies(chains())

    assert anyio.run(go) == expected


def test_rollouts_are_saved_while_agents_hold_every_thread(tmp_path):
    world, held = World(tmp_path), threading.Event()

    async def go():
        pool = anyio.to_thread.current_default_thread_limiter()
        pool.total_tokens = 1
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, held.wait)
                await anyio.lowlevel.checkpoint()
                try:
                    with anyio.fail_after(20):
                        return await world.runner(ledger).run_policies(chains(1))
                finally:
                    held.set()

    assert len(anyio.run(go)) == 1


def test_ctrl_c_requests_a_stop_of_what_runs():
    stop, levels = Stop(), []
    stop.subscribe(levels.append)

    async def go():
        with stop_on_signals(stop):
            for wanted in (1, 2):
                os.kill(os.getpid(), signal.SIGINT)
                while stop.level < wanted:
                    await anyio.lowlevel.checkpoint()

    anyio.run(go)
    assert levels == [1, 2]


def test_ctrl_c_while_nothing_runs_is_remembered_and_the_second_one_interrupts():
    stop, before = Stop(), signal.getsignal(signal.SIGINT)

    async def go():
        with stop_on_signals(stop):
            with stop_on_signals(stop):
                pass
            signal.raise_signal(signal.SIGINT)
            assert stop.level == 1
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(go)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_unknown_task_is_named(tmp_path):
    with pytest.raises(TaskError, match="t99"):
        World(tmp_path).run([ask(request("t99"))])


def test_an_error_of_a_policy_is_raised_without_a_group(tmp_path):
    def broken():
        yield (request(),)
        raise ZeroDivisionError

    world = World(tmp_path)
    with pytest.raises(ZeroDivisionError):
        world.run([broken(), *chains(2)])


def test_equal_renderings_in_one_batch_are_one_rollout(tmp_path):
    full = units(6)
    world = World(tmp_path)
    both = ask(request(coalition=full), request(coalition=full, operator="pad"), request(coalition=full, why="again"))
    (scores,) = world.run([both])
    assert sum(world.agent.calls.values()) == 1
    assert len(set(scores)) == 1
    assert world.last.spending.reused == 2


def test_no_more_policies_run_at_once_than_jobs(tmp_path):
    alive, most = set(), []

    def policy(number):
        alive.add(number)
        most.append(len(alive))
        try:
            yield (request(coalition=("m", f"u{number}")),)
        finally:
            alive.discard(number)

    World(tmp_path, options=RunnerOptions(jobs=4)).run(policy(number) for number in range(60))
    assert max(most) == 4


@pytest.mark.parametrize("change", [{"jobs": 0}, {"attempts": 0}, {"timeout": 0.0}, {"max_missing": 2.0}])
def test_invalid_options_are_refused(change):
    with pytest.raises(SettingsError):
        RunnerOptions(**change)


class CuttingAgent(ToyAgent):
    """Its answer is cut on task t1."""

    async def run(self, skill, task, replicate, workspace):
        outcome = await super().run(skill, task, replicate, workspace)
        return replace(outcome, ending=Ending.CUT) if task.id == "t1" else outcome


@pytest.mark.parametrize(("counted", "known"), [(True, {"t0", "t1"}), (False, {"t0"})])
def test_known_answers_need_no_rollout_and_count_as_nothing(tmp_path, counted, known):
    world = World(tmp_path, agent=CuttingAgent(), options=RunnerOptions(score_cut=True))
    world.run([ask(request("t0"), request("t1"))])
    world.options = RunnerOptions(score_cut=counted)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        runner = world.runner(ledger)
        answers = runner.known_answers([request(task) for task in ("t0", "t1", "t2")])
    assert {one.task for one in answers} == known
    assert runner.spending.reused == 0
