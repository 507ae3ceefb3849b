"""The adaptive policy: anchors, then task searches, or random closed coalitions once the agent proves noisy.

The policy works in rounds. The requests of a round depend only on the seed and on the answers to earlier rounds. They
do not depend on the budget: a run with a larger budget continues where the smaller one ended. The first batch scores
{m}, the full skill, and the full skill under a null change, so noise is known before any unit is searched for.
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
from skillsv.rollout.adaptive.noise_monitor import PanelMonitor
from skillsv.rollout.adaptive.order_pool import draw_pool
from skillsv.rollout.adaptive.problem import FINISHED, AdaptiveOptions, AdaptiveProblem, AdaptiveRecord
from skillsv.rollout.adaptive.repeat_sampler import RepeatSampler
from skillsv.rollout.adaptive.task_panel import FIRST_TASKS, noisy_panel_size, order_tasks
from skillsv.rollout.adaptive.task_search import CoalitionRequest, TaskSearch, UnitFindings, search_task
from skillsv.rollout.chain_policy import Policy
from skillsv.rollout.noise_check import noise_among
from skillsv.rollout.stop_rules import EstimateStatus, Progress

IDLE_ROUNDS = 5
"""Rounds without a request after which the run ends: all that can be measured is known."""

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
Batch = Generator[tuple[Request, ...], RequestScores, list[Score | None]]


def adaptive_policy(
    problem: AdaptiveProblem, options: AdaptiveOptions, seed: int, *, on_observed: OnObserved | None = None
) -> Policy[AdaptiveRecord]:
    """Request the most informative rollouts until the stop rule holds. `on_observed` gets each round's observations."""
    run = _Run(problem, options, seed, on_observed)
    yield from run.score_anchors()
    yield from run.score_known()
    yield from run.score_prior()
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
        panel=len(problem.tasks),
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

    def score_anchors(self) -> Rounds:
        """Score {m}, N and N under a null change: on the first tasks, then on the others unless the agent is noisy."""
        unknown = self.options.agent == "unknown"
        first = len(self.task_order) if self.options.agent == "deterministic" else FIRST_TASKS
        for tasks in (self.task_order[:first], self.task_order[first:]):
            if tasks and not self.ended and not (self.noisy and self.joined):
                batch = self.join(tasks, null_change=unknown)
                self.keep_anchors(batch, (yield from self.ask(batch)))
                self.noisy = self.noisy or self.monitor.noisy

    def join(self, tasks: Sequence[int], *, null_change: bool = False) -> list[TaskRequest]:
        """The anchors of tasks that join the run; the bare agent only if it was scored on the others."""
        self.joined += tasks
        anchors = [(0, AdaptiveReason.ANCHOR_TRIGGER), (self.full, AdaptiveReason.ANCHOR_FULL)]
        if null_change and self.problem.units:
            anchors.append((self.full, AdaptiveReason.ANCHOR_NULL_CHANGE))
        if self.bare_asked:
            anchors.append((BARE, AdaptiveReason.ANCHOR_EMPTY))
        return [(task, CoalitionRequest(mask=mask, why=why)) for mask, why in anchors for task in tasks]

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

    def score_prior(self) -> Rounds:
        """Ask for the coalitions at which another agent's scores changed: conflicts there need hardly any search."""
        if self.noisy or self.ended:
            return
        places = [(self.problem.tasks.index(item.task), self._mask(item.coalition)) for item in self.options.prior]
        new = [place for place in dict.fromkeys(places) if place[1] not in self.tables[place[0]].scores]
        scores = yield from self.ask(
            [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.PRIOR)) for task, mask in new]
        )
        for (task, mask), score in zip(new, scores, strict=False):
            if score is not None:
                self.tables[task].add(mask, score)

    def _mask(self, coalition: Coalition) -> Mask:
        return sum(1 << place for place, unit in enumerate(self.problem.units) if unit in coalition)

    @property
    def bare_is_due(self) -> bool:
        """Whether to score the bare agent now: only the trigger value needs it, so the units come first."""
        if self.bare_asked:
            return False
        if self.noisy:
            return len(self.observations) >= BARE_AFTER * len(self.joined) * len(self.problem.operators)
        return bool(self.rounds.min() > 0) or not self.problem.units

    def score_bare_agent(self) -> Rounds:
        """Score the bare agent on every task that has joined."""
        self.bare_asked = True
        request = CoalitionRequest(mask=BARE, why=AdaptiveReason.ANCHOR_EMPTY)
        yield from self.ask([(task, request) for task in self.joined])
        if not self.problem.units:
            self.ended = self.ended or "there are no units to value"

    def search_tasks(self) -> Rounds:
        """Search different tasks for their deciding units, all at the same time: one round for a steady agent.

        A task that proved noisy is not searched. It gets one random closed coalition a round.
        """
        before = self.searched
        live: list[tuple[int, TaskSearch, CoalitionRequest]] = []
        units = self.unit_findings()
        noisy_tasks = sorted(self.monitor.noisy_tasks)
        for task in self.choose_steady_tasks(noisy_tasks):
            rng = np.random.default_rng(self.rng.integers(2**63))
            search = search_task(self.tables[task], self.pool, rng, self.monitor.of_task(task), units)
            self.rounds[task] += 1
            _advance(live, task, search, None)
        repeats = self.draw_repeats() if live else []
        closed_sets = [self.closed_set(task, AdaptiveReason.NOISY_TASK) for task in noisy_tasks] if live else []
        differing: list[tuple[int, Mask]] = []
        while live and not self.ended:
            waiting, live = live, []
            requests = [(task, request) for task, _, request in waiting]
            scores = yield from self.ask(requests, [*repeats, *closed_sets])
            differing += self.compare_repeats(repeats, scores[len(waiting) :])
            repeats = closed_sets = []
            for (task, search, _), score in zip(waiting, scores, strict=False):
                _advance(live, task, search, score)
        for _, search, _ in live:
            search.close()
        for task, mask in differing:  # only now: a running search may still read the score
            if mask in self.tables[task].scores:
                self.tables[task].remove(mask)
        for task in self.monitor.noisy_tasks:
            self.tables[task] = TaskTable()
        self.noisy = self.options.agent == "unknown" and self.monitor.noisy
        self.idle = self.idle + 1 if self.searched == before else 0
        if self.idle >= IDLE_ROUNDS:
            self.ended = FINISHED

    def choose_steady_tasks(self, noisy_tasks: Sequence[int]) -> list[int]:
        """The tasks to search in this round, without those that proved noisy."""
        steady = np.array([task for task in range(len(self.tables)) if task not in noisy_tasks], dtype=np.int64)
        self.rounds[list(noisy_tasks)] += 1
        if not len(steady):
            return []
        weights, count = self.weights(), min(self.options.tasks_per_round, len(steady))
        tables = [self.tables[task] for task in steady]
        chosen = choose_search_tasks(
            tables, self.rounds[steady], None if weights is None else weights[steady], count, self.rng
        )
        return [int(steady[place]) for place in chosen]

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

    def score_closed_sets(self) -> Rounds:
        """Score random closed coalitions: one round for a noisy agent. A coalition drawn again gets a new replicate.

        Further tasks join with their anchors as the run grows.
        """
        size = noisy_panel_size(len(self.observations) // len(self.problem.operators), len(self.task_order))
        active = np.array(sorted(self.task_order[:size]), dtype=np.int64)
        anchors = self.join([task for task in self.task_order[:size] if task not in self.joined])
        weights = self.weights()
        chosen = active[
            choose_noisy_tasks(
                self.sums[active],
                self.rounds[active],
                None if weights is None else weights[active],
                self.options.tasks_per_round,
                self.rng,
            )
        ]
        self.rounds[chosen] += 1
        closed_sets = [self.closed_set(task, AdaptiveReason.CLOSED_SET) for task in chosen.tolist()]
        self.keep_anchors(anchors, (yield from self.ask([*anchors, *closed_sets])))

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


def _advance(
    live: list[tuple[int, TaskSearch, CoalitionRequest]], task: int, search: TaskSearch, score: Score | None
) -> None:
    """Send a score to a search and keep it in `live` with its next request, unless it has ended."""
    try:
        live.append((task, search, search.send(score)))
    except StopIteration:
        return
