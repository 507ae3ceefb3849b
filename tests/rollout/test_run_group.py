"""Runs that share slots and a budget."""

import math
from dataclasses import dataclass

from skillsv.model.rollout import Usage
from skillsv.rollout.run_group import RunGroup
from skillsv.rollout.stop_rules import Never, Progress, budget


@dataclass(eq=False)
class ToyRun:
    """A run with so many rollouts queued. Those that it starts stay under way."""

    group: RunGroup
    queued: int
    slots: int | None = None
    active: int = 0
    usd: float | None = None
    seconds: float = 0.0

    def progress(self):
        return Progress(attempts=self.active, usage=Usage(usd=self.usd), seconds=self.seconds)

    def start_one(self):
        if not self.queued or not self.group.has_slot(self.slots):
            return False
        self.queued -= 1
        self.active += 1
        return True


def started(jobs, *queued, slots=None):
    group = RunGroup(jobs, Never())
    runs = [ToyRun(group, number, slots) for number in queued]
    for run in runs:
        group.join(run)
    group.start_next()
    return group, runs


def test_a_free_slot_goes_to_the_run_with_the_fewest_rollouts():
    _, runs = started(6, 10, 10, 10)
    assert [run.active for run in runs] == [2, 2, 2]


def test_slots_that_one_run_leaves_idle_are_used_by_the_others():
    _, runs = started(6, 1, 0, 10)
    assert [run.active for run in runs] == [1, 0, 5]


def test_the_slots_of_a_shared_engine_hold_for_all_runs():
    group, _ = started(6, 10, 10, slots=3)
    assert group.active == 3


def test_a_run_that_leaves_gives_its_slots_to_the_others():
    group, (first, second) = started(4, 10, 10)
    group.leave(first)
    assert second.active == 4


def test_what_a_finished_run_spent_still_counts():
    group = RunGroup(4, budget(usd=3.0))
    runs = [ToyRun(group, 0, usd=2.0, seconds=5.0), ToyRun(group, 0, usd=1.0, seconds=4.0), ToyRun(group, 0)]
    for run in runs:
        group.join(run)
    group.leave(runs[0])
    group.join(runs[0])  # a second period of the same run counts once
    group.leave(runs[0])
    progress = group.progress()
    assert (progress.usage.usd, progress.seconds) == (3.0, 5.0)
    assert group.budget.reached(progress) is not None
    assert math.isinf(group.budget.seconds_left(Progress()))
