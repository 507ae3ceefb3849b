"""Task searches of a steady agent that roll: a search that has ended is replaced at once by one of another task.

The searches run in groups, and the groups take turns: while the policy waits for one, the rollouts of the others keep
the slots busy. What is asked depends on the answers to the groups before, in their order, never on who answered first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from skillsv.model.coalition import AdaptiveReason
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task_table import Score, TaskTable
from skillsv.rollout.adaptive.allocation import SETTLED_SHARE, choose_search_tasks
from skillsv.rollout.adaptive.problem import FINISHED
from skillsv.rollout.adaptive.run_state import IssuedBatch, Rounds, RunState, TaskRequest
from skillsv.rollout.adaptive.task_search import CoalitionRequest, TaskSearch, next_request, search_task

IDLE_ROUNDS = 5
"""Rounds without a request after which the run ends: all that can be measured is known."""

GROUPS = 4
"""Groups of searches that take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LiveSearch:
    """A search that waits for the score of `request`."""

    task: int
    search: TaskSearch
    request: CoalitionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What is asked together: a request of each search, and repeats with the scores that they are compared with."""

    searches: list[_LiveSearch]
    repeats: list[tuple[int, Score]]
    issued: IssuedBatch


class RollingSearches:
    """The searches of one run, until the run ends or the agent proves noisy."""

    def __init__(self, run: RunState, searches: int) -> None:
        self._run = run
        self._most = searches
        self._size = -(-self._most // GROUPS)  # searches of a group, at most
        self._flight: deque[_Group] = deque()
        self._searched: set[int] = set()  # tasks with a live search
        self._reset: set[int] = set()  # tasks that proved noisy, whose tables were emptied
        self._started = 0  # searches since the tasks that are noisy on their own had their turn
        self._fruitless = 0  # searches one after the other that had nothing to ask
        self._chosen: set[int] = set()  # tasks chosen in the current turn of as many searches as a round has
        self._settled_due = 0.0  # searches of tasks without a conflict that are due

    def search(self) -> Rounds:
        """Search tasks until the run ends or the agent proves noisy."""
        run, going_on = self._run, list[_LiveSearch]()
        while True:
            while len(self._flight) < GROUPS and not run.ended and not run.noisy and self._issue(going_on):
                going_on = []
            if not self._flight:
                break
            going_on = yield from self._collect(self._flight.popleft())
        if not run.noisy:
            run.ended = run.ended or FINISHED

    def _issue(self, going_on: list[_LiveSearch]) -> bool:
        """Ask for the next group: searches that go on, and new ones in place of those that ended. False if none."""
        run = self._run
        new = self._start(min(self._size - len(going_on), self._most - len(self._searched)))
        searches = [*going_on, *new]
        if not searches:
            return False
        requests = [(live.task, live.request) for live in searches]
        if run.bare_is_due and self._bare_may_be_asked():
            requests += run.bare_requests()
        repeats = run.draw_repeats()
        known = [(task, run.tables[task].scores[request.mask]) for task, request in repeats]
        issued = run.issue(requests, [*repeats, *self._closed_sets(len(new))])
        self._flight.append(_Group(searches=searches, repeats=known, issued=issued))
        return True

    def _bare_may_be_asked(self) -> bool:
        """Whether a search has ended on every task: until then rollouts of units decide more than the bare agent's.

        Runs that recorded no searches do not wait for that.
        """
        if self._run.options.live_searches is None:
            return True
        ended = self._run.rounds.copy()
        ended[sorted(self._searched)] -= 1
        return bool(ended.min() > 0)

    def _start(self, count: int) -> list[_LiveSearch]:
        """Start searches of so many tasks, or of as many as have something to ask."""
        run, started = self._run, list[_LiveSearch]()
        units = run.unit_findings() if count else None
        while len(started) < count and self._fruitless < IDLE_ROUNDS * run.options.tasks_per_round:
            tasks = self._choose(count - len(started))
            if not tasks or units is None:
                break
            for task in tasks:
                rng = np.random.default_rng(run.rng.integers(2**63))
                search = search_task(run.tables[task], run.pool, rng, run.monitor.of_task(task), units)
                run.rounds[task] += 1
                request = next_request(search, None)
                self._fruitless = self._fruitless + 1 if request is None else 0
                if request is not None:
                    self._searched.add(task)
                    started.append(_LiveSearch(task=task, search=search, request=request))
        return started

    def _choose(self, count: int) -> list[int]:
        """Tasks to search next, without those that are searched now and those that proved noisy."""
        run = self._run
        left_out = self._searched | run.monitor.noisy_tasks | self._chosen_this_turn()
        free = np.array([task for task in range(len(run.tables)) if task not in left_out], dtype=np.int64)
        if not len(free):
            return []
        count = min(count, len(free))
        self._settled_due += SETTLED_SHARE * count
        settled = int(self._settled_due)
        self._settled_due -= settled
        weights = run.weights()
        chosen = choose_search_tasks(
            [run.tables[task] for task in free],
            run.rounds[free],
            None if weights is None else weights[free],
            count,
            run.rng,
            settled_first=settled,
        )
        self._chosen.update(free[chosen].tolist())
        return [int(free[place]) for place in chosen]

    def _chosen_this_turn(self) -> set[int]:
        """Tasks that are not chosen again now: as in a round, the next ones are others, whatever is most open.

        A turn ends after as many searches as a round has, or when no other task is left. Runs that recorded no searches
        have no turns.
        """
        run, noisy = self._run, self._run.monitor.noisy_tasks
        left = len(run.tables) - len(self._searched | noisy | self._chosen)
        if len(self._chosen) >= run.options.tasks_per_round or not left or run.options.live_searches is None:
            self._chosen.clear()
        return self._chosen

    def _closed_sets(self, started: int) -> list[TaskRequest]:
        """A random closed coalition for each task that is noisy on its own, once in so many searches as a round has."""
        run = self._run
        self._started += started
        if self._started < run.options.tasks_per_round:
            return []
        self._started -= run.options.tasks_per_round
        noisy = sorted(run.monitor.noisy_tasks)
        run.rounds[noisy] += 1
        return [run.closed_set(task, AdaptiveReason.NOISY_TASK) for task in noisy]

    def _collect(self, group: _Group) -> Generator[tuple[Request, ...], RequestScores, list[_LiveSearch]]:
        """Wait for the answers to a group and return its searches that go on."""
        run = self._run
        scores = yield from run.collect(group.issued)
        for (task, known), score in zip(group.repeats, scores[group.issued.searches :], strict=False):
            if score is not None:
                run.monitor.add(task, differs=score != known)
        self._fruitless, going_on = 0, []
        for live, score in zip(group.searches, scores, strict=False):
            request = next_request(live.search, score)
            if request is None:
                self._searched.discard(live.task)
            else:
                going_on.append(replace(live, request=request))
        for task in run.monitor.noisy_tasks - self._reset:
            run.tables[task] = TaskTable()  # a live search of this task still ends with the table that it has
            self._reset.add(task)
        run.noisy = run.options.agent == "unknown" and run.monitor.noisy
        return going_on
