"""The batches of Inspect samples: which samples share an evaluation, which wait, and when it is cancelled."""

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
from skillsv.agents.inspect.batches import BatchQueue, PendingSample
from skillsv.agents.inspect.evaluate import EvaluationResult, EvaluationSettings, sample_seconds
from skillsv.errors import AgentFailure, SettingsError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:inspect_ai")


class FakeInspect:
    """Replaces Inspect: every evaluation waits until `released` is set."""

    def __init__(self):
        self.started: list[list[str]] = []
        self.released = anyio.Event()
        self.cancelled = 0

    async def evaluate(self, settings, samples, *, scored):
        self.started.append([sample.id for sample in samples])
        try:
            await self.released.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return EvaluationResult(samples={sample.id: finished(sample) for sample in samples}, error=None)


def finished(sample):
    return EvalSample(id=sample.id, epoch=1, input=sample.input, target="")


@pytest.fixture
def fake(monkeypatch):
    found = FakeInspect()
    monkeypatch.setattr(module, "evaluate", found.evaluate)
    return found


SETTINGS = EvaluationSettings(task=Task(), seconds=None, logs=None)


def pending(name, settings=SETTINGS, *, scored=True):
    return PendingSample(settings, Sample(input=name, metadata={"task_id": name}), scored)


async def wait_until_blocked():
    """Wait until all tasks are blocked."""
    await anyio.wait_all_tasks_blocked()


def test_waiting_samples_share_an_evaluation_and_get_their_own_results(fake):
    answers = {}

    async def one(queue, name):
        answers[name] = (await queue.run(pending(name))).input

    async def main():
        queue = BatchQueue()
        async with anyio.create_task_group() as group:
            for name in "ab":
                group.start_soon(one, queue, name)
            await wait_until_blocked()
            for name in "cde":
                group.start_soon(one, queue, name)
            await wait_until_blocked()
            assert fake.started == [["1-a", "2-b"]]
            fake.released.set()

    anyio.run(main)
    assert fake.started == [["1-a", "2-b"], ["1-c", "2-d", "3-e"]]
    assert answers == {name: name for name in "abcde"}


def test_other_settings_and_unscored_samples_run_in_other_evaluations(fake):
    other = EvaluationSettings(task=Task(), seconds=None, logs=None)
    fake.released.set()

    async def main():
        queue = BatchQueue()
        async with anyio.create_task_group() as group:
            for one in (pending("a"), pending("b", other), pending("c", scored=False), pending("d")):
                group.start_soon(queue.run, one)

    anyio.run(main)
    assert fake.started == [["1-a", "2-d"], ["1-b"], ["1-c"]]


def test_an_evaluation_without_waiting_rollouts_is_cancelled(fake):
    async def main():
        queue = BatchQueue()
        async with anyio.create_task_group() as group:
            for name in "ab":
                group.start_soon(queue.run, pending(name))
            await wait_until_blocked()
            group.cancel_scope.cancel()
        assert fake.cancelled == 1
        fake.released.set()
        assert (await queue.run(pending("c"))).input == "c"

    anyio.run(main)


def test_a_cancelled_rollout_does_not_end_the_evaluation_of_others(fake):
    async def main():
        queue = BatchQueue()
        answers = []

        async def stays():
            answers.append(await queue.run(pending("stays")))

        async with anyio.create_task_group() as group:
            group.start_soon(stays)
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(queue.run, pending("leaves"))
                await wait_until_blocked()
                leaving.start_soon(queue.run, pending("had not begun"))
                await wait_until_blocked()
                leaving.cancel_scope.cancel()
            assert fake.cancelled == 0
            fake.released.set()
        assert [answer.input for answer in answers] == ["stays"]

    anyio.run(main)
    assert fake.started == [["1-stays", "2-leaves"]]


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (EvaluationResult(samples={}, error="no room for the sandbox"), AgentFailure, "no room for the sandbox"),
        (RuntimeError("broke sk-very-secret-0123456789"), AgentFailure, "RuntimeError: broke [OPENAI_API_KEY]"),
        (module.PrerequisiteError("[bold]docker[/bold] is missing"), SettingsError, "docker is missing"),
    ],
)
def test_a_failed_evaluation_raises_in_all_waiting_rollouts(monkeypatch, found, kind, words):
    async def fails(settings, samples, *, scored):
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(module, "evaluate", fails)
    caught = []

    async def one(queue, name):
        with pytest.raises(kind) as raised:
            await queue.run(pending(name))
        caught.append(str(raised.value))

    async def main():
        queue = BatchQueue()
        async with anyio.create_task_group() as group:
            group.start_soon(one, queue, "a")
            group.start_soon(one, queue, "b")

    anyio.run(main)
    assert len(caught) == 2
    assert all(words in message for message in caught)


def test_a_sample_has_half_of_the_rollout_timeout():
    assert [sample_seconds(timeout) for timeout in (None, 600.0, 3.0, 0.5)] == [None, 300, 1, 1]


@pytest.mark.parametrize(
    ("ours", "own", "limit", "is_failure"),
    [(None, None, None, False), (5, None, 5, True), (5, 9, 5, True), (9, 5, 5, False), (None, 5, 5, False)],
)
def test_the_shorter_time_limit_applies_and_only_ours_is_a_failure(ours, own, limit, is_failure):
    limited = EvaluationSettings(task=Task(time_limit=own), seconds=ours, logs=None)
    assert (limited.time_limit, limited.timeout_is_failure) == (limit, is_failure)


@pytest.mark.heavy
def test_inspect_stops_a_cancelled_evaluation_and_runs_the_next_one():
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

    limited = EvaluationSettings(task=Task(solver=patient()), seconds=None, logs=None)

    async def main():
        queue = BatchQueue()
        async with anyio.create_task_group() as group:
            group.start_soon(queue.run, pending("wait", limited, scored=False))
            await began.wait()
            group.cancel_scope.cancel()
        assert stopped == ["wait"]
        return await queue.run(pending("go", limited, scored=False))

    assert anyio.run(main).output.completion == "done"
