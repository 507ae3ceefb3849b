"""The queue before Inspect: who goes together, who waits, and that nothing runs on for nobody."""

from __future__ import annotations

import anyio
import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

from skillsv.agents.inspect import batches as module
from skillsv.agents.inspect.batches import Batches, Ticket
from skillsv.agents.inspect.evaluate import Evaluated, Plan, seconds_of
from skillsv.errors import AgentFailure, SettingsError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:inspect_ai")


class Hall:
    """Stands in for Inspect: every evaluation waits in it until it is let go."""

    def __init__(self):
        self.held: list[list[str]] = []
        self.let_go = anyio.Event()
        self.cancelled = 0

    async def evaluate(self, plan, samples, *, scored):
        self.held.append([sample.id for sample in samples])
        try:
            await self.let_go.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return Evaluated(samples={sample.id: finished(sample) for sample in samples}, trouble=None)


def finished(sample):
    return EvalSample(id=sample.id, epoch=1, input=sample.input, target="")


@pytest.fixture
def hall(monkeypatch):
    found = Hall()
    monkeypatch.setattr(module, "evaluate", found.evaluate)
    return found


PLAN = Plan(task=Task(), seconds=None, logs=None)


def ticket(name, plan=PLAN, *, scored=True):
    return Ticket(plan, Sample(input=name, metadata={"task_id": name}), scored)


async def settle():
    """Let everything happen that can without anybody being let go."""
    await anyio.wait_all_tasks_blocked()


def test_what_waits_goes_together_and_each_gets_its_own(hall):
    answers = {}

    async def one(queue, name):
        answers[name] = (await queue.ask(ticket(name))).input

    async def main():
        queue = Batches()
        async with anyio.create_task_group() as group:
            for name in "ab":
                group.start_soon(one, queue, name)
            await settle()
            for name in "cde":
                group.start_soon(one, queue, name)
            await settle()
            assert hall.held == [["1-a", "2-b"]]
            hall.let_go.set()

    anyio.run(main)
    assert hall.held == [["1-a", "2-b"], ["1-c", "2-d", "3-e"]]
    assert answers == {name: name for name in "abcde"}


def test_other_plans_and_unscored_samples_have_evaluations_of_their_own(hall):
    other = Plan(task=Task(), seconds=None, logs=None)
    hall.let_go.set()

    async def main():
        queue = Batches()
        async with anyio.create_task_group() as group:
            for one in (ticket("a"), ticket("b", other), ticket("c", scored=False), ticket("d")):
                group.start_soon(queue.ask, one)

    anyio.run(main)
    assert hall.held == [["1-a", "2-d"], ["1-b"], ["1-c"]]


def test_an_evaluation_that_nobody_waits_for_is_cancelled_before_the_last_one_leaves(hall):
    async def main():
        queue = Batches()
        async with anyio.create_task_group() as group:
            for name in "ab":
                group.start_soon(queue.ask, ticket(name))
            await settle()
            group.cancel_scope.cancel()
        assert hall.cancelled == 1
        hall.let_go.set()
        assert (await queue.ask(ticket("c"))).input == "c"

    anyio.run(main)


def test_one_who_leaves_does_not_end_it_for_the_others(hall):
    async def main():
        queue = Batches()
        answers = []

        async def stays():
            answers.append(await queue.ask(ticket("stays")))

        async with anyio.create_task_group() as group:
            group.start_soon(stays)
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(queue.ask, ticket("leaves"))
                await settle()
                leaving.start_soon(queue.ask, ticket("had not begun"))
                await settle()
                leaving.cancel_scope.cancel()
            assert hall.cancelled == 0
            hall.let_go.set()
        assert [answer.input for answer in answers] == ["stays"]

    anyio.run(main)
    assert hall.held == [["1-stays", "2-leaves"]]


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (Evaluated(samples={}, trouble="no room for the sandbox"), AgentFailure, "no room for the sandbox"),
        (RuntimeError("broke sk-very-secret-0123456789"), AgentFailure, "RuntimeError: broke [OPENAI_API_KEY]"),
        (module.PrerequisiteError("[bold]docker[/bold] is missing"), SettingsError, "docker is missing"),
    ],
)
def test_an_evaluation_that_fails_is_said_to_all_who_waited(monkeypatch, found, kind, words):
    async def fails(plan, samples, *, scored):
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(module, "evaluate", fails)
    caught = []

    async def one(queue, name):
        with pytest.raises(kind) as raised:
            await queue.ask(ticket(name))
        caught.append(str(raised.value))

    async def main():
        queue = Batches()
        async with anyio.create_task_group() as group:
            group.start_soon(one, queue, "a")
            group.start_soon(one, queue, "b")

    anyio.run(main)
    assert len(caught) == 2
    assert all(words in said for said in caught)


def test_a_rollout_may_wait_for_one_evaluation_before_its_own():
    assert [seconds_of(timeout) for timeout in (None, 600.0, 3.0, 0.5)] == [None, 300, 1, 1]


@pytest.mark.parametrize(
    ("ours", "own", "limit", "cut_short"),
    [(None, None, None, False), (5, None, 5, True), (5, 9, 5, True), (9, 5, 5, False), (None, 5, 5, False)],
)
def test_the_shorter_limit_holds_and_only_ours_means_no_answer(ours, own, limit, cut_short):
    plan = Plan(task=Task(time_limit=own), seconds=ours, logs=None)
    assert (plan.time_limit, plan.cut_short) == (limit, cut_short)


@pytest.mark.heavy
def test_inspect_itself_stops_where_nobody_waits_and_goes_on_afterwards():
    began, stopped = anyio.Event(), []

    @solver
    def patient():
        async def solve(state, generate):
            if state.input_text == "wait":
                began.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    stopped.append("wait")
            state.output = ModelOutput.from_content("none", "done")
            return state

        return solve

    plan = Plan(task=Task(solver=patient()), seconds=None, logs=None)

    async def main():
        queue = Batches()
        async with anyio.create_task_group() as group:
            group.start_soon(queue.ask, ticket("wait", plan, scored=False))
            await began.wait()
            group.cancel_scope.cancel()
        assert stopped == ["wait"]
        return await queue.ask(ticket("go", plan, scored=False))

    assert anyio.run(main).output.completion == "done"
