"""The adaptive policy: anchors, then visits task by task while the agent repeats itself, then random closed sets.

It proceeds in rounds. What a round asks depends on nothing but the seed and the answers to earlier rounds, and the
path does not depend on the budget: the same run with more room goes on where the smaller one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import numpy as np
import numpy.typing as npt

from skillsv.model.coalition import Coalition, Observation, Operator
from skillsv.model.rollout import Answers, Request
from skillsv.rollout.adaptive.allocation import Monitor, share_noisy, share_visits
from skillsv.rollout.adaptive.problem import (
    FINISHED,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    draw_closed,
    needed_masks,
)
from skillsv.rollout.adaptive.stop import EstimateStatus
from skillsv.rollout.adaptive.task_search import Ask, Pool, TaskSearch, search_task
from skillsv.rollout.adaptive.task_table import Mask, Score, TaskTable
from skillsv.rollout.chain_policy import Policy

POOL = 1000
"""Orders drawn for choosing what to ask; fewer for skills of hundreds of units."""

IDLE_ROUNDS = 5
"""So many rounds without a question mean that all is known."""

LOOK_AGAIN = 1.25
"""The judge is asked again when the record has grown by this factor."""

BARE: Mask = -1
"""Stands for the bare agent, which is no coalition: not even the trigger is there."""

Asked = tuple[int, Ask]
"""A task's number and what to ask of it."""

OnObserved = Callable[[Sequence[Observation]], None]
Batch = Generator[tuple[Request, ...], Answers, list[Score | None]]


def adaptive_policy(
    problem: AdaptiveProblem, options: AdaptiveOptions, seed: int, *, on_observed: OnObserved | None = None
) -> Policy[AdaptiveRecord]:
    """Spend rollouts where they say most, until the stop rule holds. `on_observed` gets each round's observations."""
    run = _Run(problem, options, np.random.default_rng(seed), on_observed)
    yield from run.anchors()
    while not run.ended:
        if run.bare_is_due:
            yield from run.bare()
        elif run.noisy:
            yield from run.closed_sets()
        else:
            yield from run.visits()
    return AdaptiveRecord(
        observations=tuple(run.observations),
        noisy=run.noisy,
        ended=run.ended,
        checks=run.monitor.checks,
        reverts=run.monitor.reverts,
    )


class _Run:
    """The state between rounds. It changes only when a whole batch of answers is there."""

    def __init__(
        self,
        problem: AdaptiveProblem,
        options: AdaptiveOptions,
        rng: np.random.Generator,
        on_observed: OnObserved | None,
    ) -> None:
        self.problem, self.options, self.rng, self.on_observed = problem, options, rng, on_observed
        self.tables = [TaskTable() for _ in problem.tasks]
        self.sums = np.zeros((len(problem.tasks), 2))
        self.asked: dict[tuple[int, Mask], int] = {}
        self.monitor = Monitor()
        self.pool = _draw_pool(problem, rng)
        self.needed = needed_masks(problem.units, problem.needs)
        self.full: Mask = (1 << len(problem.units)) - 1
        self.observations: list[Observation] = []
        self.rounds = np.zeros(len(problem.tasks), dtype=np.int64)
        self.standing, self.next_look = EstimateStatus(), 4 * len(problem.tasks)
        self.noisy = options.agent == "noisy"
        self.idle = 0
        self.bare_asked = False
        self.ended = ""

    def anchors(self) -> Generator[tuple[Request, ...], Answers, None]:
        """{m} and N on every task."""
        tasks = range(len(self.problem.tasks))
        for mask, why in ((0, "anchor:trigger"), (self.full, "anchor:full")):
            batch = [(task, Ask(mask=mask, why=why)) for task in tasks]
            for (task, ask), score in zip(batch, (yield from self.ask(batch)), strict=True):
                if score is not None:
                    self.tables[task].add(ask.mask, score)

    @property
    def bare_is_due(self) -> bool:
        """Only the trigger value needs the bare agent, so it waits until every task was visited once."""
        return not self.bare_asked and (self.noisy or self.rounds.min() > 0 or not self.problem.units)

    def bare(self) -> Generator[tuple[Request, ...], Answers, None]:
        """The bare agent on every task."""
        self.bare_asked = True
        yield from self.ask([(task, Ask(mask=BARE, why="anchor:empty")) for task in range(len(self.problem.tasks))])
        if not self.problem.units:
            self.ended = self.ended or "there are no units to value"

    def visits(self) -> Generator[tuple[Request, ...], Answers, None]:
        """One round of visits to different tasks, all advancing together."""
        before, count = len(self.observations), min(self.options.visits, len(self.problem.tasks))
        tasks = share_visits(self.tables, self.rounds, self.weights(), count, self.rng)
        live: list[tuple[int, TaskSearch, Ask]] = []
        elsewhere = self.decided()
        for task in tasks:
            luck = np.random.default_rng(self.rng.integers(2**63))
            going = search_task(self.tables[task], self.pool, luck, self.monitor, elsewhere)
            self.rounds[task] += 1
            _advance(live, task, going, None)
        while live and not self.ended:
            waiting, live = live, []
            scores = yield from self.ask([(task, ask) for task, _, ask in waiting])
            for (task, going, _), score in zip(waiting, scores, strict=True):
                _advance(live, task, going, score)
        for _, going, _ in live:
            going.close()
        self.noisy = self.options.agent == "unknown" and self.monitor.noisy
        self.idle = self.idle + 1 if len(self.observations) == before else 0
        if self.idle >= IDLE_ROUNDS:
            self.ended = FINISHED

    def closed_sets(self) -> Generator[tuple[Request, ...], Answers, None]:
        """One round of random closed coalitions; a coalition met again gets a fresh replicate."""
        tasks = share_noisy(self.sums, self.rounds, self.weights(), self.options.visits, self.rng)
        self.rounds[tasks] += 1
        batch = [(task, Ask(mask=draw_closed(self.needed, self.rng), why="closed-set")) for task in tasks.tolist()]
        yield from self.ask(batch)

    def decided(self) -> npt.NDArray[np.float64]:
        """On how many tasks each unit is known to decide."""
        units = [unit for table in self.tables for unit in table.units]
        return np.bincount(np.array(units, dtype=np.int64), minlength=self.pool.size).astype(np.float64)

    def weights(self) -> npt.NDArray[np.float64] | None:
        """What the judge says about where verdicts are open, task by task."""
        if not self.standing.tasks:
            return None
        return np.array([self.standing.tasks.get(task, 0.0) for task in self.problem.tasks])

    def ask(self, batch: Sequence[Asked]) -> Batch:
        """Scores of a batch, in its order; what the stop rule leaves no room for stays unasked and missing."""
        room = self.options.stop.room(len(self.observations), self.standing)
        wanted: list[list[Request]] = []
        for task, ask in batch:
            requests = self._requests(task, ask)
            room -= len(requests)
            if room < 0:
                self.ended = self.options.stop.reason(len(self.observations), self.standing)
                break
            wanted.append(requests)
        if not wanted:
            return [None] * len(batch)
        answers = yield tuple(request for requests in wanted for request in requests)
        scores = [self._score(task, requests, answers) for (task, _), requests in zip(batch, wanted, strict=False)]
        self._observe([_observation(request, answers[request]) for requests in wanted for request in requests])
        return scores + [None] * (len(batch) - len(scores))

    def _requests(self, task: int, ask: Ask) -> list[Request]:
        """A coalition under all operators. The full skill and the bare agent are the same under each."""
        kept = [unit for place, unit in enumerate(self.problem.units) if ask.mask >> place & 1]
        coalition: Coalition = frozenset((self.problem.trigger, *kept)) if ask.mask != BARE else frozenset()
        operators = (Operator.DELETE,) if ask.mask in (BARE, self.full) else self.problem.operators
        replicate = self.asked.get((task, ask.mask), 0)
        self.asked[task, ask.mask] = replicate + 1
        name = self.problem.tasks[task]
        return [
            Request(coalition=coalition, operator=operator, task=name, replicate=replicate, why=ask.why)
            for operator in operators
        ]

    def _score(self, task: int, requests: Sequence[Request], answers: Answers) -> Score | None:
        """One score per operator, or None if any is missing: then the coalition is left out under all."""
        scores = [score for score in map(answers.__getitem__, requests) if score is not None]
        if len(scores) < len(requests):
            return None
        if requests[0].coalition:
            self.sums[task] += (1.0, scores[0])
        shared = len(self.problem.operators) - len(requests)
        return (*scores, *scores * shared)

    def _observe(self, observations: list[Observation]) -> None:
        """Keep the round's answers, tell who listens, and ask the judge when there is enough news."""
        self.observations += observations
        if self.on_observed is not None:
            self.on_observed(observations)
        if self.options.judge is not None and len(self.observations) >= self.next_look:
            self.standing = self.options.judge(self.observations)
            self.next_look = int(LOOK_AGAIN * len(self.observations)) + 1


def _observation(request: Request, score: float | None) -> Observation:
    return Observation(
        coalition=request.coalition,
        operator=request.operator,
        task=request.task,
        replicate=request.replicate,
        score=score,
        why=request.why,
    )


def _advance(live: list[tuple[int, TaskSearch, Ask]], task: int, going: TaskSearch, score: Score | None) -> None:
    """Take a visit to its next question; drop it where it has none."""
    try:
        live.append((task, going, going.send(score)))
    except StopIteration:
        return


def _draw_pool(problem: AdaptiveProblem, rng: np.random.Generator) -> Pool:
    """Orders as arrays of unit numbers; fewer where units are many, because a draw takes time linear in them."""
    number = {unit: place for place, unit in enumerate(problem.units)}
    count = max(POOL // max(1, len(number) // 50), 64)
    drawn = [[number[unit] for unit in problem.sample_order(rng)[1:]] for _ in range(count)]
    orders = np.array(drawn, dtype=np.int64).reshape(count, len(number))
    return Pool(orders=orders, place=np.argsort(orders, axis=1))
