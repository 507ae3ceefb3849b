"""The adaptive policy: anchors, then task searches, or random closed coalitions once the agent proves noisy.

The policy works in rounds. The requests of a round depend only on the seed and on the answers to earlier rounds. They
do not depend on the budget: a run with a larger budget continues where the smaller one ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence

import numpy as np
import numpy.typing as npt

from skillsv.model.coalition import AdaptiveReason, Coalition, Observation, Operator
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task_table import Mask, Score, TaskTable
from skillsv.rollout.adaptive.allocation import choose_noisy_tasks, choose_search_tasks
from skillsv.rollout.adaptive.closed_coalitions import draw_closed, needed_masks
from skillsv.rollout.adaptive.noise_monitor import NoiseMonitor
from skillsv.rollout.adaptive.order_pool import draw_pool
from skillsv.rollout.adaptive.problem import FINISHED, AdaptiveOptions, AdaptiveProblem, AdaptiveRecord
from skillsv.rollout.adaptive.repeat_sampler import RepeatSampler
from skillsv.rollout.adaptive.task_search import CoalitionRequest, TaskSearch, search_task
from skillsv.rollout.chain_policy import Policy
from skillsv.rollout.noise_check import noise_among
from skillsv.rollout.stop_rules import EstimateStatus, Progress

IDLE_ROUNDS = 5
"""Rounds without a request after which the run ends: all that can be measured is known."""

FIRST_STATUS = 4
"""Observations per task before the state of the estimate is computed for the first time."""

STATUS_GROWTH = 1.25
"""The state of the estimate is computed again when the record has grown by this factor."""

BARE: Mask = -1
"""Stands for the bare agent, which has no coalition: it does not even get the trigger."""

TaskRequest = tuple[int, CoalitionRequest]
"""The number of a task and a coalition to score on it."""

OnObserved = Callable[[Sequence[Observation]], None]
Rounds = Generator[tuple[Request, ...], RequestScores, None]
Batch = Generator[tuple[Request, ...], RequestScores, list[Score | None]]


def adaptive_policy(
    problem: AdaptiveProblem, options: AdaptiveOptions, seed: int, *, on_observed: OnObserved | None = None
) -> Policy[AdaptiveRecord]:
    """Request the most informative rollouts until the stop rule holds. `on_observed` gets each round's observations."""
    run = _Run(problem, options, seed, on_observed)
    yield from run.score_anchors()
    yield from run.score_known()
    while not run.ended:
        if run.bare_is_due:
            yield from run.score_bare_agent()
        elif run.noisy:
            yield from run.score_closed_sets()
        else:
            yield from run.search_tasks()
    return AdaptiveRecord(
        observations=tuple(run.observations),
        noisy=run.noisy,
        ended=run.ended,
        noise=noise_among(run.observations),
        neighbours=len(run.monitor.neighbours),
        reverts=sum(run.monitor.neighbours),
    )


class _Run:
    """The state between rounds. It changes only when all answers of a batch have arrived."""

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
        self.monitor = NoiseMonitor()
        self.sampler = RepeatSampler(len(problem.units), seed)
        self.repeated = 0  # observations that are repeats drawn at random: no search depends on their number
        self.scored = 0  # coalitions asked for, without these repeats
        self.pool = draw_pool(problem, rng)
        self.needed = needed_masks(problem.units, problem.needs)
        self.full: Mask = (1 << len(problem.units)) - 1
        self.observations: list[Observation] = []
        self.rounds = np.zeros(len(problem.tasks), dtype=np.int64)
        self.status, self.next_status = EstimateStatus(), FIRST_STATUS * len(problem.tasks)
        self.noisy = options.agent == "noisy"
        self.idle = 0
        self.bare_asked = False
        self.ended = ""

    def score_anchors(self) -> Rounds:
        """Score {m} and N on every task."""
        tasks = range(len(self.problem.tasks))
        for mask, why in ((0, AdaptiveReason.ANCHOR_TRIGGER), (self.full, AdaptiveReason.ANCHOR_FULL)):
            batch = [(task, CoalitionRequest(mask=mask, why=why)) for task in tasks]
            for task, score in zip(tasks, (yield from self.ask(batch)), strict=True):
                if score is not None:
                    self.tables[task].add(mask, score)

    def score_known(self) -> Rounds:
        """Ask for what an earlier run has scored: searches begin from there. A coalition named again is a repeat."""
        known = [(self.problem.tasks.index(item.task), self._mask(item.coalition)) for item in self.options.known]
        firsts = list(dict.fromkeys(place for place in known if place[1] not in (0, self.full)))
        again = [place for place, number in Counter(known).items() for _ in range(number - 1) if place in set(firsts)]
        requests = [
            [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.KNOWN)) for task, mask in places]
            for places in (firsts, again)
        ]
        scores = yield from self.ask(*requests)
        self.scored -= len(firsts)  # repeats are drawn for what this run pays
        for (task, mask), score in zip(firsts, scores, strict=False):
            if score is not None:
                self.tables[task].add(mask, score)
        for task, mask in self.compare_repeats(requests[1], scores[len(firsts) :]):
            if mask in self.tables[task].scores:
                self.tables[task].remove(mask)

    def _mask(self, coalition: Coalition) -> Mask:
        return sum(1 << place for place, unit in enumerate(self.problem.units) if unit in coalition)

    @property
    def bare_is_due(self) -> bool:
        """Whether to score the bare agent now: once each task was searched, because only the trigger value needs it."""
        return not self.bare_asked and (self.noisy or self.rounds.min() > 0 or not self.problem.units)

    def score_bare_agent(self) -> Rounds:
        """Score the bare agent on every task."""
        self.bare_asked = True
        request = CoalitionRequest(mask=BARE, why=AdaptiveReason.ANCHOR_EMPTY)
        yield from self.ask([(task, request) for task in range(len(self.problem.tasks))])
        if not self.problem.units:
            self.ended = self.ended or "there are no units to value"

    def search_tasks(self) -> Rounds:
        """Search different tasks for their deciding units, all at the same time: one round for a steady agent."""
        before, count = self.searched, min(self.options.tasks_per_round, len(self.problem.tasks))
        tasks = choose_search_tasks(self.tables, self.rounds, self.weights(), count, self.rng)
        live: list[tuple[int, TaskSearch, CoalitionRequest]] = []
        elsewhere = self.decided_tasks()
        for task in tasks:
            rng = np.random.default_rng(self.rng.integers(2**63))
            search = search_task(self.tables[task], self.pool, rng, self.monitor, elsewhere)
            self.rounds[task] += 1
            _advance(live, task, search, None)
        repeats = self.draw_repeats() if live else []
        differing: list[tuple[int, Mask]] = []
        while live and not self.ended:
            waiting, live = live, []
            scores = yield from self.ask([(task, request) for task, _, request in waiting], repeats)
            differing += self.compare_repeats(repeats, scores[len(waiting) :])
            repeats = []
            for (task, search, _), score in zip(waiting, scores, strict=False):
                _advance(live, task, search, score)
        for _, search, _ in live:
            search.close()
        for task, mask in differing:  # only now: a running search may still read the score
            if mask in self.tables[task].scores:
                self.tables[task].remove(mask)
        self.noisy = self.options.agent == "unknown" and self.monitor.noisy
        self.idle = self.idle + 1 if self.searched == before else 0
        if self.idle >= IDLE_ROUNDS:
            self.ended = FINISHED

    @property
    def searched(self) -> int:
        """The number of observations without the repeats drawn at random."""
        return len(self.observations) - self.repeated

    def draw_repeats(self) -> list[TaskRequest]:
        """Scored coalitions to score again in this round; none where the kind of agent is known."""
        if self.options.agent != "unknown":
            return []
        places = self.sampler.draw(self.tables, self.scored, self.monitor.differing)
        return [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.REPEAT)) for task, mask in places]

    def compare_repeats(self, repeats: Sequence[TaskRequest], scores: Sequence[Score | None]) -> list[tuple[int, Mask]]:
        """Report to the monitor which repeats differ from the first score, and return their tasks and coalitions."""
        differing = []
        for (task, request), score in zip(repeats, scores, strict=True):
            if score is not None:
                differs = score != self.tables[task].scores[request.mask]
                self.monitor.samples.append(differs)
                differing += [(task, request.mask)] * differs
        return differing

    def score_closed_sets(self) -> Rounds:
        """Score random closed coalitions: one round for a noisy agent. A coalition drawn again gets a new replicate."""
        tasks = choose_noisy_tasks(self.sums, self.rounds, self.weights(), self.options.tasks_per_round, self.rng)
        self.rounds[tasks] += 1
        yield from self.ask(
            [
                (task, CoalitionRequest(mask=draw_closed(self.needed, self.rng), why=AdaptiveReason.CLOSED_SET))
                for task in tasks.tolist()
            ]
        )

    def decided_tasks(self) -> npt.NDArray[np.float64]:
        """For each unit the number of tasks that it is known to decide."""
        units = [unit for table in self.tables for unit in table.deciding]
        return np.bincount(np.array(units, dtype=np.int64), minlength=self.pool.size).astype(np.float64)

    def weights(self) -> npt.NDArray[np.float64] | None:
        """For each task how much more rollouts would help undecided units, by the last estimate; None without one."""
        if not self.status.tasks:
            return None
        return np.array([self.status.tasks.get(task, 0.0) for task in self.problem.tasks])

    def ask(self, searches: Sequence[TaskRequest], repeats: Sequence[TaskRequest] = ()) -> Batch:
        """Request a batch and return its scores in order; requests beyond the limit of the stop rule have no score."""
        batch = [*searches, *repeats]
        progress = Progress(recorded=len(self.observations), estimate=self.status)
        room = self.options.stop.room(progress)
        wanted: list[list[Request]] = []
        for task, request in batch:
            requests = self._requests(task, request)
            room -= len(requests)
            if room < 0:
                self.ended = self.options.stop.reason(progress)
                break
            wanted.append(requests)
        if not wanted:
            return [None] * len(batch)
        everything = tuple(request for requests in wanted for request in requests)
        answers = yield everything
        scores = [self._score(task, requests, answers) for (task, _), requests in zip(batch, wanted, strict=False)]
        self.scored += min(len(wanted), len(searches))
        self.repeated += sum(map(len, wanted[len(searches) :]))
        self._observe([_observation(request, answers[request]) for request in everything])
        return scores + [None] * (len(batch) - len(scores))

    def _requests(self, task: int, wanted: CoalitionRequest) -> list[Request]:
        """One request per operator. The full skill and the bare agent are the same under all operators."""
        mask = wanted.mask
        units = [unit for place, unit in enumerate(self.problem.units) if mask >> place & 1]
        coalition: Coalition = frozenset((self.problem.trigger, *units)) if mask != BARE else frozenset()
        operators = (Operator.DELETE,) if mask in (BARE, self.full) else self.problem.operators
        replicate = self.times_asked.get((task, mask), 0)
        self.times_asked[task, mask] = replicate + 1
        task_id = self.problem.tasks[task]
        return [
            Request(coalition=coalition, operator=operator, task=task_id, replicate=replicate, why=wanted.why)
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
    )


def _advance(
    live: list[tuple[int, TaskSearch, CoalitionRequest]], task: int, search: TaskSearch, score: Score | None
) -> None:
    """Send a score to a search and keep it in `live` with its next request, unless it has ended."""
    try:
        live.append((task, search, search.send(score)))
    except StopIteration:
        return
