"""Use of many slots by the adaptive policy: simulated runs with lognormal rollouts on a clock that jumps.

`python -m perf slots` drives the policy of the product on games with known values. For 8 to 1,000 slots it prints the
share of the slots' time that is used and the time in units of the median rollout; then the precision at the same number
of rollouts: root of the mean squared error of the units' values over their standard deviation; then the share of units
with a verdict and the precision of small budgets.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from skillsv.extend.estimators import AVERAGED_ORDERS, Sampler, estimate_adaptive
from skillsv.model.rollout import Request, Rollout, RolloutKey
from skillsv.model.value import Evidence
from skillsv.rollout.adaptive import (
    AdaptiveOptions,
    AdaptiveRecord,
    MaxRollouts,
    adaptive_policy,
    choose_live_searches,
    choose_round_size,
)
from skillsv.rollout.durations import TaskDurations
from skillsv_bench.estimators import make_adaptive_problem, play_adaptive
from skillsv_bench.families.game import KINDS, FamilyGame, draw_game
from skillsv_bench.families.noise import NOISES
from skillsv_bench.families.player import FamilyPlayer

ROLLOUTS = 1600
"""Rollouts of one run."""

UNITS, TASKS = 26, 60
"""Size of the games."""

SLOTS = (8, 64, 256, 1000)
"""Slots of the simulated clusters."""

SPREAD = 0.6
"""Standard deviation of the logarithm of a rollout's time; the median is 1."""

TASK_SPREAD = 0.5
"""The part of it that tasks differ by, where that is simulated: what long rollouts that start first can use."""

SECONDS = 60.0
"""Median seconds of a rollout, where the order of long ones is simulated."""

AGENTS = {"noisy": "T=.25", "steady": "T=0"}
"""The two kinds of agents, and the noise of each."""

SEEDS = (700, 701)
"""Seeds of the games on which the use of slots is measured. Nothing was chosen on them."""

PLAYER_SEED = 7
"""Added to the seed of a game for the answers of its agent."""

PRECISION_SEEDS = {"noisy": range(800, 808), "steady": range(800, 803)}
"""Seeds of the games on which precision is measured: a game of each kind for each."""

SMALL_BUDGETS = ((30, (300, 800)), (60, (800,)))
"""Tasks of a steady agent's games, and small budgets on them."""

SMALL_SEEDS = range(900, 908)
"""Seeds of the games on which small budgets are measured. Nothing was chosen on them."""


@dataclass
class SimulatedRun:
    """One skill in the simulation: its policy, its agent, and what it waits for."""

    game: FamilyGame
    noise: str
    options: AdaptiveOptions
    record: AdaptiveRecord | None = None
    awaited: set[Request] = field(default_factory=set)
    batch: Sequence[Request] = ()
    answers: dict[Request, float] = field(default_factory=dict)
    started: set[Request] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.policy = adaptive_policy(make_adaptive_problem(self.game), self.options, self.game.seed)
        self.player = FamilyPlayer(self.game, NOISES[self.noise], self.game.seed)

    def advance(self) -> list[Request]:
        """Send answers while all that the policy waits for are there; returns the requests that start now."""
        new: list[Request] = []
        try:
            while not self.awaited and self.record is None:
                sent = {request: self.answers.pop(request) for request in self.batch}
                self.batch = self.policy.send(sent if self.batch else None)
                for request in (*self.batch, *getattr(self.batch, "ahead", ())):
                    if request not in self.started:
                        self.started.add(request)
                        new.append(request)
                self.awaited = {request for request in self.batch if request not in self.answers}
        except StopIteration as done:
            self.record = done.value
        return new

    def receive(self, request: Request, score: float) -> list[Request]:
        """Take one answer; returns the requests that start now."""
        self.answers[request] = score
        self.awaited.discard(request)
        return [] if self.awaited else self.advance()


@dataclass(frozen=True)
class Use:
    """What a simulation gave: share of the slots' time that was used, time, rollouts."""

    share: float
    time: float
    rollouts: int


class RolloutTimes:
    """Draws the time of each rollout; tasks differ by `task_spread`. `longest_first` orders as the runner does."""

    def __init__(self, seed: int, *, task_spread: float = 0.0, longest_first: bool = False) -> None:
        self._rng, self._seed, self._task_spread = np.random.default_rng(seed), seed, task_spread
        self._longest_first, self._of_task = longest_first, dict[str, float]()
        self._known = TaskDurations()

    def draw(self, request: Request) -> float:
        """The time of a rollout that starts now."""
        if request.task not in self._of_task:
            rng = np.random.default_rng([self._seed, *request.task.encode()])
            self._of_task[request.task] = float(rng.lognormal(0.0, self._task_spread))
        rest = math.sqrt(SPREAD**2 - self._task_spread**2)
        return self._of_task[request.task] * float(self._rng.lognormal(0.0, rest))

    def note_end(self, request: Request, time: float) -> None:
        """A rollout has ended: the runner knows its time."""
        key = _key(request)
        self._known.add(Rollout(key=key, task_id=request.task, score=1.0, duration=SECONDS * time))

    def order(self, requests: list[Request]) -> list[Request]:
        """Requests that are asked for together, in the order in which they start."""
        if not self._longest_first:
            return requests
        pairs = [(request, _key(request)) for request in requests]
        return [request for request, _ in self._known.longest_first(pairs, later=len(pairs))]


def _key(request: Request) -> RolloutKey:
    return RolloutKey(tree="", task=request.task, agent="")


def simulate(runs: Sequence[SimulatedRun], slots: int, times: RolloutTimes | None = None) -> Use:
    """Run all policies on so many slots. Each run gets its turn: its n-th request goes before any later one."""
    times = times or RolloutTimes(1)
    queue: list[tuple[int, int, Request]] = []
    running: list[tuple[float, int, int, Request, float, float]] = []
    counts, now, used, number = [0] * len(runs), 0.0, 0.0, 0

    def add(run: int, requests: list[Request]) -> None:
        for request in times.order(requests):
            counts[run] += 1
            heapq.heappush(queue, (counts[run], run, request))  # counts differ within a run: requests never compare

    for place, run in enumerate(runs):
        add(place, run.advance())
    while queue or running:
        while queue and len(running) < slots:
            _, place, request = heapq.heappop(queue)
            time, number = times.draw(request), number + 1
            used += time
            score = runs[place].player.answer([request])[request]
            heapq.heappush(running, (now + time, number, place, request, score, time))
        now, _, place, request, score, time = heapq.heappop(running)
        times.note_end(request, time)
        add(place, runs[place].receive(request, score))
    return Use(share=used / (slots * now), time=now, rollouts=number)


def relative_error(run: SimulatedRun) -> float:
    """The error (rmse over sd) of the values that the run's record gives, against the exact ones."""
    return judge(run)[1]


def judge(run: SimulatedRun, budget: int | None = None) -> tuple[float, float]:
    """Share of units with a verdict, and error (rmse over sd), after so many rollouts of the run."""
    assert run.record is not None
    sampler = Sampler(run.game.compiled)
    orders = [sampler.sample(np.random.default_rng([run.game.seed, 3, number])) for number in range(AVERAGED_ORDERS)]
    estimate = estimate_adaptive(run.game.compiled, run.record.observations[:budget], orders)
    values = np.array([unit.net_or_zero.value for unit in estimate.units])
    truth = run.game.truth(NOISES[run.noise])
    decided = float(np.mean([unit.evidence is not Evidence.UNRESOLVED for unit in estimate.units]))
    return decided, float(np.sqrt(np.mean((values - truth) ** 2)) / truth.std())


def make_run(
    kind: str, seed: int, agent: str, jobs: int | None, *, tasks: int = TASKS, rollouts: int = ROLLOUTS
) -> SimulatedRun:
    """A run of one game; `jobs` None: in the rounds of runs without a recorded size."""
    game = draw_game(kind, seed, units=UNITS, tasks=tasks)
    size, searches = (
        (None, None) if jobs is None else (choose_round_size(jobs), choose_live_searches(jobs, tasks, rollouts))
    )
    options = AdaptiveOptions(stop=MaxRollouts(rollouts), round_size=size, live_searches=searches)
    return SimulatedRun(game, AGENTS[agent], options)


def use_of_slots(agent: str, slots: int, jobs: int | None) -> Use:
    """The mean over a run of each kind of game and seed, one run at a time."""
    uses = [simulate([make_run(kind, seed, agent, jobs)], slots) for seed in SEEDS for kind in KINDS]
    share, time, rollouts = (np.mean([getattr(use, name) for use in uses]) for name in ("share", "time", "rollouts"))
    return Use(share=float(share), time=float(time), rollouts=round(rollouts))


def batch_runs(agent: str, skills: int, slots: int, jobs: int | None, seed: int = SEEDS[0]) -> Use:
    """Several skills at the same time on the same slots; `agent` "both" takes the two kinds in turn."""
    agents = tuple(AGENTS) if agent == "both" else (agent,)
    runs = [
        make_run(KINDS[number % len(KINDS)], seed + number, agents[number % len(agents)], jobs)
        for number in range(skills)
    ]
    return simulate(runs, slots)


def table() -> Iterator[tuple[str, float, str]]:
    """Rows of single runs: rounds without a size, then the rounds for so many jobs, at each number of slots."""
    for agent in AGENTS:
        for slots in SLOTS:
            for jobs in (None, slots):
                use = use_of_slots(agent, slots, jobs)
                what = f"{agent}, {slots:,} slots, {'rounds without a size' if jobs is None else 'rounds for them'}"
                yield what, use.share, "of the slots' time used"
                yield what, use.time, "times the median rollout"


def precision(agent: str, jobs: Sequence[int]) -> Iterator[tuple[str, float, str]]:
    """The error of the rounds for so many jobs against that of rounds without a size, game by game."""
    errors: dict[int | None, list[float]] = {None: [], **{number: [] for number in jobs}}
    for seed in PRECISION_SEEDS[agent]:
        for kind in KINDS:
            for number, found in errors.items():
                found.append(relative_error(play(make_run(kind, seed, agent, number))))
    before = errors[None]
    yield f"{agent}, rounds without a size", float(np.mean(before)), f"rmse/sd, {len(before)} games"
    for number in jobs:
        more = np.subtract(errors[number], before)
        unit = f"rmse/sd more (standard error {standard_error(more):.3f})"
        yield f"{agent}, rounds for {number} jobs", float(more.mean()), unit


def play(run: SimulatedRun) -> SimulatedRun:
    """The run with its record. The path does not depend on the slots, so no time is simulated."""
    player = FamilyPlayer(run.game, NOISES[run.noise], run.game.seed + PLAYER_SEED)
    run.record = play_adaptive(make_adaptive_problem(run.game), player, run.options, run.game.seed)
    return run


def small_budgets(jobs: int = 8) -> Iterator[tuple[str, float, str]]:
    """A steady agent's small budgets, rolling searches for so many jobs against rounds without a size."""
    for tasks, budgets in SMALL_BUDGETS:
        found: dict[int, list[tuple[float, ...]]] = {budget: [] for budget in budgets}
        for seed in SMALL_SEEDS:
            for kind in KINDS:
                runs = [
                    play(make_run(kind, seed, "steady", number, tasks=tasks, rollouts=max(budgets)))
                    for number in (None, jobs)
                ]
                for budget, rows in found.items():
                    before, after = (judge(run, budget) for run in runs)
                    rows.append((*before, *np.subtract(after, before)))
        for budget, rows in found.items():
            decided, error, more_decided, more_error = np.mean(rows, axis=0).tolist()
            what = f"steady, {tasks} tasks, {budget} rollouts"
            yield f"{what}, rounds without a size", decided, f"of units decided, {len(rows)} games"
            of_decided, of_error = (standard_error([row[place] for row in rows]) for place in (2, 3))
            yield f"{what}, {jobs} jobs", more_decided, f"of units more (standard error {of_decided:.3f})"
            yield f"{what}, rounds without a size", error, "rmse/sd"
            yield f"{what}, {jobs} jobs", more_error, f"rmse/sd more (standard error {of_error:.3f})"


def longest_first() -> Iterator[tuple[str, float, str]]:
    """Use of slots where tasks differ in length, in plain order and with long rollouts first."""
    for agent, slots in (("noisy", 64), ("steady", 8), ("steady", 64)):
        for first in (False, True):
            times = [
                simulate(
                    [make_run(kind, SEEDS[0], agent, slots)],
                    slots,
                    RolloutTimes(1, task_spread=TASK_SPREAD, longest_first=first),
                ).share
                for kind in KINDS
            ]
            what = f"{agent}, {slots} slots, tasks differ, {'long ones first' if first else 'plain order'}"
            yield what, float(np.mean(times)), "of the slots' time used"


def standard_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def batches() -> Iterator[tuple[str, float, str]]:
    """Rows of several skills at once."""
    for agent, skills, slots in (("steady", 20, 256), ("noisy", 20, 256), ("both", 100, 1000)):
        use = batch_runs(agent, skills, slots, slots)
        yield f"{skills} skills at once, {agent}, {slots:,} slots", use.share, "of the slots' time used"


def figures() -> Iterator[tuple[str, float, str]]:
    yield from table()
    yield from precision("noisy", (8, 64, 256))
    yield from precision("steady", (8, 64))
    yield from small_budgets()
    yield from longest_first()
    yield from batches()


if __name__ == "__main__":
    for name, value, unit in figures():
        print(f"{value:10.3f}  {unit:40} {name}", flush=True)
    sys.exit(0)
