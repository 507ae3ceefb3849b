"""`sv.matrix` with agents that run at the same time: the values of each agent alone, with shared slots and limits."""

import hashlib
import threading
import time

import anyio.to_thread
import pytest
from tests.api.letter_agents import SKILL, deaf, large, read, small

import skillsv as sv
from skillsv.errors import BudgetReached, Interrupted, Unavailable
from skillsv.model.coalition import AgentPrior
from skillsv.model.events import Note, RolloutFinished, RunFinished, RunStarted
from skillsv.model.rollout import Outcome
from skillsv.rollout import RunFolder


def noisy(skill, task, replicate):
    """Reads the skill, and gives the other answer in one of five rollouts."""
    text = f"{skill.text if skill else ''} {task.id} {replicate}"
    wrong = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 5 == 0
    return {"yes": "no", "no": "yes"}[read(skill, task)] if wrong else read(skill, task)


AGENTS = {"small": small, "large": large, "noisy": noisy}


@pytest.fixture(scope="module")
def tasks():
    words = ("alpha", "beta", "gamma", "delta", "omega")
    return [{"id": f"t{number:02d}", "input": words[number % 5], "target": "yes"} for number in range(20)]


@pytest.fixture(scope="module")
def found(tmp_path_factory, tasks):
    folder = tmp_path_factory.mktemp("matrix") / "run"
    return sv.matrix(SKILL, tasks=tasks, agents=AGENTS, panel_b=0, max_rollouts=600, at_once=True, run_dir=folder)


def values_of(run):
    return [(unit.id, unit.net, unit.value) for unit in run.valuation.units]


@pytest.mark.heavy
def test_values_are_those_of_each_agent_alone(found, tasks, tmp_path):
    for name, agent in AGENTS.items():
        alone = sv.value(SKILL, tasks=tasks, agent=agent, panel_b=0, max_rollouts=200, run_dir=tmp_path / name)
        assert values_of(found.runs[name]) == values_of(alone)
        assert RunFolder(found.runs[name].folder).prior() == AgentPrior()


@pytest.mark.heavy
def test_the_same_call_again_pays_nothing(found, tasks):
    again = sv.matrix(
        SKILL, tasks=tasks, agents=AGENTS, panel_b=0, max_rollouts=600, at_once=True, run_dir=found.folder
    )
    assert sum(run.valuation.rollouts.spent for run in again.runs.values()) == 0
    assert again.document["units"] == found.document["units"]
    assert [path.parent for path in found.folder.rglob("ledger.sqlite")] == [found.folder]


def watched(agents):
    """The agents, and a record of which ran at each moment."""
    running, seen, lock = [], [], threading.Lock()

    def slow(name, agent):
        def run(skill, task):
            with lock:
                running.append(name)
                seen.append(tuple(running))
            time.sleep(0.005)
            with lock:
                running.remove(name)
            return agent(skill, task)

        return run

    return {name: Named(name, slow(name, agent)) for name, agent in agents.items()}, seen


class Named:
    """An agent with a fingerprint of its own."""

    def __init__(self, name, function):
        self.fingerprint, self._function = f"test/{name}", function

    async def run(self, skill, task, replicate, workspace):
        return Outcome(answer=await anyio.to_thread.run_sync(self._function, skill, task))


def with_text(agent):
    """Gives a rendered skill the attribute `text` that the functions here read."""

    def run(skill, task):
        text = None if skill is None else skill.contents["SKILL.md"].decode()
        return agent(None if text is None else type("Text", (), {"text": text}), task)

    return run


def test_all_agents_share_the_slots(tasks):
    agents, seen = watched({"small": with_text(small), "large": with_text(large)})
    events = []
    sv.matrix(
        SKILL, tasks=tasks, agents=agents, panel_b=0, max_rollouts=200, at_once=True, jobs=3, progress=events.append
    )
    assert max(map(len, seen)) == 3
    assert any(set(now) == {"small", "large"} for now in seen)
    assert sum(isinstance(event, RunStarted) for event in events) == 1
    assert sum(isinstance(event, RunFinished) for event in events) == 1
    notes = [event.message for event in events if isinstance(event, Note)]
    assert any("none begins with what another showed" in note for note in notes)
    assert any(note.startswith("small: ") for note in notes)


def test_an_agent_that_fails_does_not_end_the_others(tasks):
    def broken(skill, task):
        raise OSError("no connection")

    agents = {"broken": broken, "deaf": deaf, "small": small}
    found = sv.matrix(SKILL, tasks=tasks, agents=agents, panel_b=0, max_rollouts=900, at_once=True, attempts=1)
    assert list(found.runs) == ["small"]
    assert isinstance(found.error, Unavailable)
    assert [agent["error"] is None for agent in found.document["agents"]] == [False, False, True]


def test_a_limit_of_seconds_holds_for_all_agents_together(tasks):
    agents, _ = watched({"small": with_text(small), "large": with_text(large)})
    begun = time.monotonic()
    with pytest.raises(BudgetReached):
        sv.matrix(SKILL, tasks=tasks, agents=agents, panel_b=0, max_rollouts=4000, max_seconds=0.01, at_once=True)
    assert time.monotonic() - begun < 30


@pytest.mark.heavy
def test_retries_of_one_agent_count_against_the_limit_of_all(tasks):
    fails, calls = set(), []

    def flaky(skill, task):
        key = (skill.text if skill else "", task.id)
        calls.append(key)
        if len(calls) > 20 and key not in fails:
            fails.add(key)
            raise ConnectionError("try again")
        return small(skill, task)

    events = []
    found = sv.matrix(
        SKILL, tasks=tasks, agents={"flaky": flaky, "large": large}, panel_b=0, max_rollouts=240, at_once=True,
        version="1", progress=events.append, jobs=4,
    )  # fmt: skip
    paid = sum(isinstance(event, RolloutFinished) and not event.reused for event in events)
    assert isinstance(found.error, BudgetReached)
    assert paid + len(fails) == 240


@pytest.mark.heavy
def test_an_interruption_stops_all_agents_and_the_same_call_resumes(tasks, tmp_path):
    calls = []

    def stopping(event):
        if isinstance(event, RolloutFinished):
            calls.append(event)
            if len(calls) == 250:
                for run in (tmp_path / "run" / "matrix-runs").iterdir():
                    (run / "stop-request").touch()
        if 250 <= len(calls) < 260:
            time.sleep(0.1)  # the file is looked for every half second

    arguments = {"tasks": tasks, "agents": AGENTS, "panel_b": 0, "max_rollouts": 900, "at_once": True, "jobs": 2}
    stopped = sv.matrix(SKILL, run_dir=tmp_path / "run", progress=stopping, **arguments)
    assert isinstance(stopped.error, Interrupted)
    resumed = sv.matrix(SKILL, run_dir=tmp_path / "run", **arguments)
    whole = sv.matrix(SKILL, run_dir=tmp_path / "whole", **arguments)
    assert str(resumed.error) == str(whole.error), "the noisy agent needs more rollouts, in both cases"
    assert {name: values_of(run) for name, run in resumed.runs.items()} == {
        name: values_of(run) for name, run in whole.runs.items()
    }
