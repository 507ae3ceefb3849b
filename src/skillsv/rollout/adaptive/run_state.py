"""The state of an adaptive run between batches, and how it asks for a batch and stores its answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from skillsv.model.coalition import AdaptiveReason, Coalition, Observation, Operator
from skillsv.model.rollout import Request, RequestBatch, RequestScores
from skillsv.model.task_table import Mask, Score, TaskTable
from skillsv.rollout.adaptive.closed_coalitions import draw_closed, needed_masks
from skillsv.rollout.adaptive.noise_monitor import PanelMonitor
from skillsv.rollout.adaptive.order_pool import draw_pool
from skillsv.rollout.adaptive.problem import AdaptiveOptions, AdaptiveProblem
from skillsv.rollout.adaptive.repeat_sampler import RepeatSampler
from skillsv.rollout.adaptive.task_panel import order_tasks
from skillsv.rollout.adaptive.task_search import CoalitionRequest, UnitFindings
from skillsv.rollout.stop_rules import EstimateStatus, Progress

FIRST_STATUS = 4
"""Observations per task before the state of the estimate is computed for the first time."""

STATUS_GROWTH = 1.25
"""The state of the estimate is computed again when the record has grown by this factor."""

BARE_AFTER = 12
"""Noisy agent: rollouts per task before the bare agent is scored, because only the trigger value needs it."""

CHECKS_PER_REVERT = 2
"""Further checks for a score that went back next to a change: it may be noise or an interaction of units."""

BARE: Mask = -1
"""Stands for the bare agent, which has no coalition: it does not even get the trigger."""

TaskRequest = tuple[int, CoalitionRequest]
"""The number of a task and a coalition to score on it."""

OnObserved = Callable[[Sequence[Observation]], None]
Rounds = Generator[tuple[Request, ...], RequestScores, None]
Collected = Generator[tuple[Request, ...], RequestScores, list[Score | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedBatch:
    """A batch that was asked for: the first `searches` are no repeats; `wanted` are the requests within the limit."""

    batch: list[TaskRequest]
    searches: int
    wanted: list[list[Request]]

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests in order."""
        return tuple(chain.from_iterable(self.wanted))


class RunState:
    """What is known between batches. It changes only when all answers of a batch have arrived."""

    def __init__(
        self,
        problem: AdaptiveProblem,
        options: AdaptiveOptions,
        seed: int,
        on_observed: OnObserved | None,
    ) -> None:
        self.problem, self.options, self.on_observed = problem, options, on_observed
        self.rng = rng = np.random.default_rng(seed)
        self.tables = [TaskTable() for _ in problem.tasks]
        self.sums = np.zeros((len(problem.tasks), 2))  # per task: number of scores, sum of scores
        self.times_asked: dict[tuple[int, Mask], int] = {}
        self.monitor = PanelMonitor(tasks=len(problem.tasks))
        self.sampler = RepeatSampler(len(problem.units), seed)
        self.repeated = 0  # observations that are repeats drawn at random: no search depends on their number
        self.scored = 0  # coalitions asked for, without these repeats
        self.pool = draw_pool(problem, rng)
        self.needed = needed_masks(problem.units, problem.needs)
        self.full: Mask = (1 << len(problem.units)) - 1
        self.observations: list[Observation] = []
        self.task_order = order_tasks(problem.tasks, problem.strata, seed)
        self.joined: list[int] = []  # tasks with anchors, in the order in which they joined
        self.not_changed: set[tuple[int, Mask]] = set()  # repeats drawn at random that are asked without a null change
        self.drawn = 0  # repeats drawn at random
        self.rounds = np.zeros(len(problem.tasks), dtype=np.int64)
        self.status, self.next_status = EstimateStatus(), FIRST_STATUS * len(problem.tasks)
        self.noisy = options.agent == "noisy"
        self.idle = 0
        self.bare_asked = False
        self.ended = ""
        self.issued = 0  # rollouts asked for, those included that have no answer yet
        self._not_started: list[Request] = []  # issued since the policy last waited

    def join(self, tasks: Sequence[int], *, null_change: bool = False) -> list[TaskRequest]:
        """The anchors of tasks that join the run; the bare agent only if it was scored on the others."""
        self.joined += tasks
        anchors = [(0, AdaptiveReason.ANCHOR_TRIGGER), (self.full, AdaptiveReason.ANCHOR_FULL)]
        if null_change and self.problem.units:
            anchors.append((self.full, AdaptiveReason.ANCHOR_NULL_CHANGE))
        if self.bare_asked:
            anchors.append((BARE, AdaptiveReason.ANCHOR_EMPTY))
        return [(task, CoalitionRequest(mask=mask, why=why)) for mask, why in anchors for task in tasks]

    def bare_requests(self) -> list[TaskRequest]:
        """The bare agent on every task that has joined."""
        self.bare_asked = True
        request = CoalitionRequest(mask=BARE, why=AdaptiveReason.ANCHOR_EMPTY)
        return [(task, request) for task in self.joined]

    def keep_anchors(self, batch: Sequence[TaskRequest], scores: Sequence[Score | None]) -> None:
        """Store the scores of anchors, and report whether null changes changed them."""
        for (task, request), score in zip(batch, scores, strict=False):
            if score is None or request.mask == BARE:
                continue
            if request.why is AdaptiveReason.ANCHOR_NULL_CHANGE:
                known = self.tables[task].scores.get(request.mask)
                if known is not None:
                    self.monitor.add(task, differs=score != known)
            else:
                self.tables[task].add(request.mask, score)

    def _mask(self, coalition: Coalition) -> Mask:
        return sum(1 << place for place, unit in enumerate(self.problem.units) if unit in coalition)

    @property
    def bare_is_due(self) -> bool:
        """Whether to score the bare agent now: only the trigger value needs it, so the units come first."""
        if self.bare_asked:
            return False
        if self.noisy:
            return self.issued >= BARE_AFTER * len(self.joined) * len(self.problem.operators)
        return bool(self.rounds.min() > 0) or not self.problem.units

    @property
    def searched(self) -> int:
        """The number of observations without the repeats drawn at random."""
        return len(self.observations) - self.repeated

    def draw_repeats(self) -> list[TaskRequest]:
        """Scored coalitions to check in this round, in turn under a null change and as they are.

        There are none where the kind of agent is known.
        """
        if self.options.agent != "unknown":
            return []
        reverts = CHECKS_PER_REVERT * sum(self.monitor.neighbours)
        places = self.sampler.draw(self.tables, self.scored, self.monitor.differing, reverts)
        self.not_changed.update(places[(self.drawn + 1) % 2 :: 2])
        self.drawn += len(places)
        return [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.REPEAT)) for task, mask in places]

    def compare_repeats(self, repeats: Sequence[TaskRequest], scores: Sequence[Score | None]) -> list[tuple[int, Mask]]:
        """Report to the monitor which repeats differ from the first score, and return their tasks and coalitions."""
        differing = []
        for (task, request), score in zip(repeats, scores, strict=False):
            if score is not None:
                differs = score != self.tables[task].scores[request.mask]
                self.monitor.add(task, differs=differs)
                differing += [(task, request.mask)] * differs
        return differing

    def closed_set(self, task: int, why: AdaptiveReason) -> TaskRequest:
        """A random closed coalition on this task."""
        return task, CoalitionRequest(mask=draw_closed(self.needed, self.rng), why=why)

    def unit_findings(self) -> UnitFindings:
        """For each unit the number of tasks that it is known to decide, and the sum of its effects on them."""
        decided, effect = np.zeros((2, self.pool.size))
        for table in self.tables:
            for unit in table.deciding:
                decided[unit] += 1.0
                effect[unit] += table.effect_of(unit)
        return UnitFindings(decided=decided, effect=effect)

    def weights(self) -> npt.NDArray[np.float64] | None:
        """For each task how much more rollouts would help undecided units, by the last estimate; None without one."""
        if not self.status.tasks:
            return None
        return np.array([self.status.tasks.get(task, 0.0) for task in self.problem.tasks])

    def ask(self, searches: Sequence[TaskRequest], repeats: Sequence[TaskRequest] = ()) -> Collected:
        """Request a batch and return its scores in order; requests beyond the limit of the stop rule have no score."""
        return (yield from self.collect(self.issue(searches, repeats)))

    def issue(self, searches: Sequence[TaskRequest], repeats: Sequence[TaskRequest] = ()) -> IssuedBatch:
        """Make the requests of a batch, as far as the stop rule allows. They may start when the policy next waits."""
        batch = [*searches, *repeats]
        progress = Progress(recorded=self.issued, estimate=self.status)
        room = self.options.stop.room(progress)
        wanted: list[list[Request]] = []
        for task, request in batch:
            requests = self._requests(task, request)
            room -= len(requests)
            if room < 0:
                self.ended = self.options.stop.reason(progress)
                break
            wanted.append(requests)
        issued = IssuedBatch(batch=batch, searches=len(searches), wanted=wanted)
        self.issued += len(issued.requests)
        self._not_started += issued.requests
        return issued

    def collect(self, issued: IssuedBatch) -> Collected:
        """Wait for an issued batch, store its answers and return its scores in order. Batches are collected in turn."""
        missing: list[Score | None] = [None] * (len(issued.batch) - len(issued.wanted))
        everything = issued.requests
        if not everything:
            return missing
        awaited = set(everything)
        ahead, self._not_started = [item for item in self._not_started if item not in awaited], []
        answers = yield RequestBatch(everything, ahead=ahead)
        scores = [
            self._score(task, requests, answers)
            for (task, _), requests in zip(issued.batch, issued.wanted, strict=False)
        ]
        self.scored += min(len(issued.wanted), issued.searches)
        self.repeated += sum(map(len, issued.wanted[issued.searches :]))
        self._observe([_observation(request, answers[request]) for request in everything])
        return scores + missing

    def _requests(self, task: int, wanted: CoalitionRequest) -> list[Request]:
        """One request per operator. The full skill and the bare agent are the same under all operators."""
        mask = wanted.mask
        units = [unit for place, unit in enumerate(self.problem.units) if mask >> place & 1]
        coalition: Coalition = frozenset((self.problem.trigger, *units)) if mask != BARE else frozenset()
        operators = (Operator.DELETE,) if mask in (BARE, self.full) else self.problem.operators
        replicate = self.times_asked.get((task, mask), 0)
        self.times_asked[task, mask] = replicate + 1
        checked = wanted.why is AdaptiveReason.REPEAT and (task, mask) not in self.not_changed
        changed = checked or wanted.why is AdaptiveReason.ANCHOR_NULL_CHANGE
        return [
            Request(
                coalition=coalition,
                operator=operator,
                task=self.problem.tasks[task],
                replicate=replicate,
                why=wanted.why,
                null_change=replicate if changed else 0,
            )
            for operator in operators
        ]

    def _score(self, task: int, requests: Sequence[Request], answers: RequestScores) -> Score | None:
        """One score per operator; None if any is missing: the coalition is then left out under all operators."""
        scores = [score for score in map(answers.__getitem__, requests) if score is not None]
        if len(scores) < len(requests):
            return None
        if requests[0].coalition:
            self.sums[task] += (1.0, scores[0])
        shared = len(self.problem.operators) - len(requests)
        return (*scores, *scores * shared)

    def _observe(self, observations: list[Observation]) -> None:
        """Store the answers, report them, and compute the state of the estimate when the record has grown enough."""
        self.observations += observations
        if self.on_observed is not None:
            self.on_observed(observations)
        if self.options.estimate_status is not None and self.searched >= self.next_status:
            self.status = self.options.estimate_status(self.observations)
            self.next_status = int(STATUS_GROWTH * self.searched) + 1


def _observation(request: Request, score: float | None) -> Observation:
    return Observation(
        coalition=request.coalition,
        operator=request.operator,
        task=request.task,
        replicate=request.replicate,
        score=score,
        why=request.why,
        null_change=request.null_change,
    )
