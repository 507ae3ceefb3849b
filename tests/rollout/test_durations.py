"""Long rollouts of a round start first, where their length is known, and results do not change."""

import pytest
from worlds import TRIGGER, ToyAgent, World, plan, tasks

from skillsv.model.coalition import Operator
from skillsv.model.rollout import Request, RequestBatch, Rollout, RolloutKey
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.durations import TaskDurations
from skillsv.rollout.engine import LocalEngine
from skillsv.rollout.run_control import RunnerOptions

SECONDS = {"t0": 0.2, "t1": 5.0, "t2": 60.0, "t3": 9.0}


def pair(task, tree="tree"):
    request = Request(coalition=frozenset({TRIGGER}), operator=Operator.DELETE, task=task)
    return request, RolloutKey(tree=tree, task=f"digest of {task}", agent="a")


def known(**seconds):
    return TaskDurations({f"digest of {task}": (2, 2 * number) for task, number in seconds.items()})


def order(durations, names, later=99):
    return [request.task for request, _ in durations.longest_first([pair(name) for name in names], later=later)]


def test_long_tasks_come_first_and_unknown_ones_count_as_average():
    assert order(known(a=2.0, b=30.0, c=4.0), "abxc") == ["b", "x", "c", "a"]


def test_nothing_changes_where_no_length_is_known_or_all_are_short():
    assert order(TaskDurations(), "bac") == ["b", "a", "c"]
    assert order(known(a=0.001, b=0.9), "ab") == ["a", "b"]


def test_requests_asked_for_ahead_stay_behind_those_that_are_waited_for():
    assert order(known(a=1.0, b=2.0, c=30.0, d=40.0), "abcd", later=2) == ["b", "a", "d", "c"]


def test_only_rollouts_with_a_score_count():
    durations = TaskDurations()
    for task, score in (("a", 1.0), ("b", None)):
        durations.add(Rollout(key=pair(task)[1], task_id=task, score=score, duration=50.0))
    durations.add(Rollout(key=pair("a")[1], task_id="a", score=0.0, duration=10.0))
    durations.add(Rollout(key=pair("c")[1], task_id="c", score=0.0, duration=33.0))
    assert order(durations, "abc") == ["c", "b", "a"], "30 seconds, an average task, and 33 seconds"


class TimedEngine(LocalEngine):
    """Rollouts of a task take its seconds by the clock that the engine reads."""

    def __init__(self, agent, verifier):
        super().__init__(agent, verifier)
        self.started = []

    async def run(self, job):
        self.started.append(job.task.id)
        rollout = await super().run(job)
        return Rollout(key=rollout.key, task_id=rollout.task_id, score=rollout.score, duration=SECONDS[job.task.id])


def ask_twice():
    """Two rounds of all tasks, with and without a unit."""
    for coalition in (frozenset({TRIGGER}), frozenset({TRIGGER, "u1"})):
        yield RequestBatch(
            [Request(coalition=coalition, operator=Operator.DELETE, task=task) for task in tasks(4)], ahead=()
        )


@pytest.mark.parametrize("sessions", [1, 2])
def test_a_round_starts_with_the_tasks_that_took_longest_before(tmp_path, sessions):
    world = World(tmp_path, options=RunnerOptions(jobs=1))
    world.engine = engine = TimedEngine(world.agent, world.verifier)
    if sessions == 2:
        rounds = ask_twice()
        first = next(rounds)

        def one_round():
            yield first

        world.run([one_round()])
    world.run([ask_twice()])
    assert engine.started == ["t0", "t1", "t2", "t3", "t2", "t3", "t1", "t0"]


def test_the_order_changes_no_record(tmp_path):
    chains = [plan(index=index, rotate=index) for index in range(3)]
    expected = World(tmp_path / "plain").run([chain_policy(chain, TRIGGER) for chain in chains])
    world = World(tmp_path / "timed", agent=ToyAgent(), options=RunnerOptions(jobs=2))
    world.engine = TimedEngine(world.agent, world.verifier)
    assert world.run([chain_policy(chain, TRIGGER) for chain in chains]) == expected
