"""The methods under comparison (the arms of the study), each run on one planted game with one kind of noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.extend.comparison import closure_loo, closure_loo_requests
from skillsv.extend.estimators import (
    AVERAGED_ORDERS,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    MaxRollouts,
    Sampler,
    adaptive_policy,
    compute_values,
    estimate_adaptive,
    estimate_chains,
)
from skillsv.model.coalition import ChainRecord, Coalition, Operator, Order
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.value import Estimate, Interval
from skillsv_bench.families import FamilyGame, FamilyPlayer
from skillsv_bench.planted import SharedNoise, answer_requests, make_plans, record_chains
from skillsv_bench.planted.game import Floats, Noise, PlantedGame

PAPER = "Algorithm 1, K=12"
"""Algorithm 1 at the paper's setting."""

UNTRUNCATED = "Algorithm 1, K=12, untruncated"
"""Algorithm 1 at the paper's setting without truncation."""

MORE = "Algorithm 1, K=24"
"""Algorithm 1 with twice the orders."""

MOST = "Algorithm 1, K=48"
"""Algorithm 1 with four times the orders."""

LEFT_OUT = "Closure-LOO"
"""Closure-LOO on the whole panel."""

CONSTANT = "constant"
"""The measured lift divided equally among the units."""

WINDOW = 8
"""The paper's number of tasks in a window."""

TOLERANCE = 0.05
"""The paper's truncation tolerance."""


class Player:
    """Answers requests as the planted agent does, with new noise for each request.

    `noise_from` lets noise begin only after so many answers. `crowding` is what padding costs on the logit scale where
    it stands for all units: with less padding proportionally less, with the full skill nothing.
    """

    def __init__(
        self, game: PlantedGame, noise: Noise, seed: int, *, noise_from: int = 0, crowding: float = 0.0
    ) -> None:
        features = game.features
        bits = {unit: 1 << place for place, unit in enumerate(game.compiled.execution)}
        self._bits = {**bits, game.compiled.trigger: 0}
        self._number = {task.id: place for place, task in enumerate(game.tasks)}
        groups = [sum(1 << place for place in group) for group in features.groups]
        used = [np.flatnonzero(features.weights[:, task]).tolist() for task in range(len(game.tasks))]
        self._parts = [
            [(groups[part], bool(features.every[part]), float(features.weights[part, task])) for part in parts]
            for task, parts in enumerate(used)
        ]
        self._base, self._bare = features.base.tolist(), features.bare.tolist()
        self._noise, self._noise_from, self._answered = noise, noise_from, 0
        self._crowding = crowding
        self._rng = np.random.default_rng([seed, 11])

    def answer(self, requests: Sequence[Request]) -> RequestScores:
        """Scores of all requests."""
        logits = np.array([self._logit(request) for request in requests])
        draws = self._rng.random(len(requests))
        self._answered += len(requests)
        noise = self._noise if self._answered > self._noise_from else Noise()
        scores = (draws < noise.chances(logits)).astype(np.float64).tolist()
        return dict(zip(requests, scores, strict=True))

    def _logit(self, request: Request) -> float:
        task = self._number[request.task]
        if not request.coalition:
            return float(self._bare[task])
        mask = sum(map(self._bits.__getitem__, request.coalition))
        total = float(self._base[task])
        for group, every, weight in self._parts[task]:
            if mask & group == group if every else mask & group:
                total += weight
        if request.operator is Operator.PAD:
            total -= self._crowding * (1.0 - len(request.coalition) / len(self._bits))
        return total


def make_adaptive_problem(
    game: PlantedGame | FamilyGame, operators: tuple[Operator, ...] = (Operator.DELETE,)
) -> AdaptiveProblem:
    """The planted game as the adaptive policy sees it."""
    return AdaptiveProblem(
        units=game.compiled.execution,
        trigger=game.compiled.trigger,
        needs=game.compiled.needs,
        tasks=tuple(task.id for task in game.tasks),
        sample_order=Sampler(game.compiled).sample,
        operators=operators,
    )


def play_adaptive(
    problem: AdaptiveProblem, player: Player | FamilyPlayer, options: AdaptiveOptions, seed: int
) -> AdaptiveRecord:
    """Run the policy to its end."""
    policy = adaptive_policy(problem, options, seed)
    try:
        requests = next(policy)
        while True:
            requests = policy.send(player.answer(requests))
    except StopIteration as done:
        record: AdaptiveRecord = done.value
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of one method on one game. Without an `estimate` it has values only, no intervals and verdicts."""

    arm: str
    rollouts: int
    values: Floats
    estimate: Estimate | None = None


def auto_arm(budget: int) -> str:
    """The adaptive estimator's name at a budget."""
    return f"auto, {budget}"


def of_estimate(arm: str, rollouts: int, estimate: Estimate) -> Answer:
    """An answer with intervals."""
    values = np.array([unit.net_or_zero.value for unit in estimate.units])
    return Answer(arm=arm, rollouts=rollouts, values=values, estimate=estimate)


def chain_answers(game: PlantedGame, noise: Noise, rng: np.random.Generator) -> Iterator[Answer]:
    """Algorithm 1 at the paper's setting, untruncated, and with two and four times the orders."""
    shared_noise = SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=48, window=WINDOW, tolerance=TOLERANCE)
    records = record_chains(game, plans, noise=noise, shared_noise=shared_noise)
    for arm, chains in ((PAPER, 12), (MORE, 24), (MOST, 48)):
        part = records[:chains]
        yield of_estimate(arm, count_rollouts(part), estimate_chains(game.compiled, part))
    untruncated_plans = make_plans(game, rng, chains=12, window=WINDOW, tolerance=None)
    untruncated = record_chains(game, untruncated_plans, noise=noise, shared_noise=shared_noise)
    yield of_estimate(UNTRUNCATED, count_rollouts(untruncated), estimate_chains(game.compiled, untruncated))


def count_rollouts(records: Sequence[ChainRecord]) -> int:
    """Count distinct (coalition, task) pairs, the bare agent's included: the ledger never runs a pair twice."""
    asked: set[tuple[Coalition, str]] = set()
    for record in records:
        order = record.plan.order
        reached = len(order) - 1 if record.truncated_at is None else record.truncated_at
        prefixes = [frozenset(order[: place + 1]) for place in range(reached + 1)]
        for coalition in (frozenset[str](), *prefixes, frozenset(order)):
            asked.update((coalition, task) for task in record.plan.window.tasks)
    return len(asked)


def simple_answers(game: PlantedGame, noise: Noise, rng: np.random.Generator) -> Iterator[Answer]:
    """Closure-LOO on the whole panel, and the measured lift divided equally among the units."""
    shared_noise = SharedNoise.draw(game, rng)
    tasks = [task.id for task in game.tasks]
    requests = closure_loo_requests(game.compiled, tasks)
    answers = answer_requests(game, requests, noise=noise, shared_noise=shared_noise)
    ranking = closure_loo(game.compiled, tasks, answers)
    left_out: list[Interval] = [ranking.values[unit] for unit in game.compiled.execution]
    yield Answer(arm=LEFT_OUT, rollouts=len(set(requests)), values=np.array([interval.value for interval in left_out]))
    ends = game.chances(np.array([[False], [True]]) & np.ones(len(game.compiled.execution), dtype=np.bool_), noise)
    lift = float(np.diff((rng.random(ends.shape) < ends).mean(axis=1))[0])
    size = len(game.compiled.execution)
    yield Answer(arm=CONSTANT, rollouts=2 * len(tasks), values=np.full(size, lift / size))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRun:
    """One adaptive run to the largest budget. Its path does not depend on the budget, so a prefix is a smaller run."""

    game: PlantedGame
    record: AdaptiveRecord
    orders: Sequence[Order]

    def at(self, budget: int, arm: str = "") -> Answer:
        """The answer after so many rollouts."""
        seen = self.record.observations[:budget]
        return of_estimate(arm or auto_arm(budget), len(seen), estimate_adaptive(self.game.compiled, seen, self.orders))

    def values(self, budget: int) -> Floats:
        """The values alone."""
        return compute_values(self.game.compiled, self.record.observations[:budget], self.orders).net.values

    def noisy_after(self) -> int | None:
        """The rollouts after which the agent was called noisy; None if it never was."""
        reasons = (place for place, each in enumerate(self.record.observations) if each.agent_is_noisy)
        return next(reasons, None)


def run_adaptive(game: PlantedGame, noise: Noise, seed: int, budget: int, *, noise_from: int = 0) -> AdaptiveRun:
    """Play the adaptive policy up to a budget."""
    player = Player(game, noise, seed, noise_from=noise_from)
    record = play_adaptive(make_adaptive_problem(game), player, AdaptiveOptions(stop=MaxRollouts(budget)), seed)
    return AdaptiveRun(game=game, record=record, orders=draw_orders(game, seed))


def draw_orders(game: PlantedGame, seed: int) -> list[Order]:
    """Orders for the estimator, which cost nothing."""
    sampler, rng = Sampler(game.compiled), np.random.default_rng([seed, 3])
    return [sampler.sample(rng) for _ in range(AVERAGED_ORDERS)]
