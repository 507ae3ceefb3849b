"""Simulates thousands of chains of a planted game in memory: what Algorithm 1 records, as arrays, in milliseconds.

`play` runs the real policy, request by request; `record_chains` computes the same records at once (a test compares
them), so a study made here is a study of the real estimator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from skillsv.extend.estimators import Policy, Sampler, chain_policy, draw_window, panel_anchor_policy, within
from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Coalition, Operator, Order, PanelAnchors
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.task import PanelA
from skillsv_bench.planted.game import Floats, Noise, PlantedGame

T = TypeVar("T")

_CHAINS_AT_ONCE = 400
"""Chains that one batch simulates, which bounds memory."""

_ROUNDING = 1e-12
"""Added to the tolerance, because means of scores carry rounding errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChains:
    """Chains as arrays: marginals per chain and unit (document order), anchors on the window, prefixes evaluated."""

    change: Floats
    trigger: Floats
    full: Floats
    evaluated: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SharedNoise:
    """Noise that all chains share: a hash of (coalition, task), because the ledger runs each prompt only once."""

    units: npt.NDArray[np.uint64]
    tasks: npt.NDArray[np.uint64]

    @classmethod
    def draw(cls, game: PlantedGame, rng: np.random.Generator) -> SharedNoise:
        """Draw new noise for one repetition of a study."""
        size = len(game.compiled.execution), len(game.tasks)
        keys = (rng.integers(2**63, size=count, dtype=np.uint64) for count in size)
        return cls(*keys)

    def draw_for_prefixes(self, orders: npt.NDArray[np.int64], windows: npt.NDArray[np.int64]) -> Floats:
        """Uniform numbers for every prefix of every order on its window: [chains, prefixes, tasks]."""
        start = np.zeros((len(orders), 1), dtype=np.uint64)
        prefix = np.concatenate([start, np.bitwise_xor.accumulate(self.units[orders], axis=1)], axis=1)
        return _unit_interval(_mix_bits(prefix)[:, :, None] ^ self.tasks[windows][:, None, :])

    def draw_for_bare_agent(self, windows: npt.NDArray[np.int64]) -> Floats:
        """Uniform numbers for the bare agent, which is a prompt of its own."""
        return _unit_interval(_mix_bits(np.ones(1, dtype=np.uint64)) ^ self.tasks[windows])


def _mix_bits(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Apply SplitMix64's finaliser, which makes neighbouring keys unrelated."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _unit_interval(keys: npt.NDArray[np.uint64]) -> Floats:
    return (_mix_bits(keys) >> np.uint64(11)).astype(np.float64) / 2.0**53


def simulate(
    game: PlantedGame,
    orders: npt.NDArray[np.int64],
    windows: npt.NDArray[np.int64],
    *,
    noise: Noise,
    shared_noise: SharedNoise,
    tolerance: float | None,
) -> SimulatedChains:
    """Algorithm 1 under deletion along `orders` (columns of execution units) on `windows` (numbers of tasks)."""
    parts = []
    for start in range(0, len(orders), _CHAINS_AT_ONCE):
        batch = slice(start, start + _CHAINS_AT_ONCE)
        scores = scores_along(game, orders[batch], windows[batch], noise=noise, shared_noise=shared_noise)
        parts.append(_truncate_chains(orders[batch], scores.mean(axis=2), tolerance))
    return SimulatedChains(
        change=np.concatenate([part.change for part in parts]),
        trigger=np.concatenate([part.trigger for part in parts]),
        full=np.concatenate([part.full for part in parts]),
        evaluated=np.concatenate([part.evaluated for part in parts]),
    )


def _truncate_chains(orders: npt.NDArray[np.int64], means: Floats, tolerance: float | None) -> SimulatedChains:
    """Marginals of the window means along each order, zero after the first prefix within the tolerance of N."""
    steps = np.diff(means, axis=1)
    count = orders.shape[1]
    evaluated = np.full(len(orders), count - 1, dtype=np.int64)
    if tolerance is not None and count > 1:
        near = np.abs(means[:, 1:-1] - means[:, -1:]) <= tolerance + _ROUNDING
        evaluated = np.where(near.any(axis=1), near.argmax(axis=1) + 1, count - 1)
        cut = np.where(near.any(axis=1), evaluated, count)
        steps = np.where(np.arange(count) < cut[:, None], steps, 0.0)
    change = np.empty_like(steps)
    np.put_along_axis(change, orders, steps, axis=1)
    return SimulatedChains(change=change, trigger=means[:, 0], full=means[:, -1], evaluated=evaluated)


def scores_along(
    game: PlantedGame,
    orders: npt.NDArray[np.int64],
    windows: npt.NDArray[np.int64],
    *,
    noise: Noise,
    shared_noise: SharedNoise,
) -> Floats:
    """Scores of every prefix from {m} to N of every order on its window: [chains, prefixes, tasks]."""
    features = game.features
    ranks = np.empty_like(orders)
    np.put_along_axis(ranks, orders, np.broadcast_to(np.arange(1, orders.shape[1] + 1), orders.shape), axis=1)
    reached = features.when_on(ranks)[:, None, :] <= np.arange(orders.shape[1] + 1)[None, :, None]
    logits = reached.astype(np.float64) @ features.weights.T[windows].transpose(0, 2, 1)
    chances = noise.chances(logits + features.base[windows][:, None, :])
    if not noise.temperature and not noise.lapse:
        return chances
    return (shared_noise.draw_for_prefixes(orders, windows) < chances).astype(np.float64)


def as_columns(game: PlantedGame, orders: Sequence[Order]) -> npt.NDArray[np.int64]:
    """Orders of unit ids as columns of execution units; the trigger in front is dropped."""
    column = {unit: place for place, unit in enumerate(game.compiled.execution)}
    return np.array([[column[unit] for unit in order[1:]] for order in orders], dtype=np.int64)


def make_plans(
    game: PlantedGame, rng: np.random.Generator, *, chains: int, window: int, tolerance: float | None
) -> list[ChainPlan]:
    """Plans under deletion with the real sampler's orders and the real windows."""
    panel = PanelA(tasks=game.tasks)
    return [
        ChainPlan(
            index=index,
            order=order,
            window=draw_window(panel, window, rng),
            operators=(Operator.DELETE,),
            tolerance=tolerance,
        )
        for index, order in enumerate(Sampler(game.compiled).orders(rng, chains))
    ]


def record_chains(
    game: PlantedGame, plans: Sequence[ChainPlan], *, noise: Noise, shared_noise: SharedNoise
) -> list[ChainRecord]:
    """The chain records that `play` gives, computed all at once."""
    number = {task.id: place for place, task in enumerate(game.tasks)}
    windows = np.array([[number[task] for task in plan.window.tasks] for plan in plans], dtype=np.int64)
    scores = scores_along(
        game, as_columns(game, [plan.order for plan in plans]), windows, noise=noise, shared_noise=shared_noise
    )
    chances = noise.chances(game.features.bare[windows])
    bare = (shared_noise.draw_for_bare_agent(windows) < chances).astype(np.float64)
    return [_record(plan, *rows) for plan, *rows in zip(plans, scores.tolist(), bare.tolist(), strict=True)]


def _record(plan: ChainPlan, prefix_scores: list[list[float]], bare: list[float]) -> ChainRecord:
    last = len(prefix_scores) - 1
    gate = plan.tolerance
    near = (
        place
        for place in range(1, last)
        if gate is not None and within(tuple(prefix_scores[place]), tuple(prefix_scores[last]), gate)
    )
    cut = next(near, None)
    return ChainRecord(
        plan=plan,
        empty=tuple(bare),
        trigger=(tuple(prefix_scores[0]),),
        full=tuple(prefix_scores[last]),
        steps=tuple(
            ChainStep(
                operator=Operator.DELETE, position=place, unit=plan.order[place], scores=tuple(prefix_scores[place])
            )
            for place in range(1, (cut or last) + 1)
        ),
        truncated_at=cut,
    )


def play(
    game: PlantedGame, plans: Sequence[ChainPlan], *, noise: Noise, shared_noise: SharedNoise
) -> list[ChainRecord]:
    """Run the real policy `chain_policy` with scores from memory: no files, no ledger, no agent."""
    return [_play_one(game, plan, noise, shared_noise) for plan in plans]


def _play_one(game: PlantedGame, plan: ChainPlan, noise: Noise, shared_noise: SharedNoise) -> ChainRecord:
    return _play_policy(game, chain_policy(plan, game.compiled.trigger), noise, shared_noise)


def play_panel_anchors(game: PlantedGame, *, noise: Noise, shared_noise: SharedNoise) -> PanelAnchors:
    """Run the real policy of the anchors on all tasks of the game."""
    tasks = [task.id for task in game.tasks]
    policy = panel_anchor_policy(tasks, game.compiled.trigger, game.compiled.everything)
    return _play_policy(game, policy, noise, shared_noise)


def _play_policy(game: PlantedGame, policy: Policy[T], noise: Noise, shared_noise: SharedNoise) -> T:
    requests = next(policy)
    while True:
        try:
            requests = policy.send(answer_requests(game, requests, noise=noise, shared_noise=shared_noise))
        except StopIteration as done:
            result: T = done.value
            return result


def answer_requests(
    game: PlantedGame, requests: Iterable[Request], *, noise: Noise, shared_noise: SharedNoise
) -> RequestScores:
    """Scores of any requests under deletion; each coalition is evaluated once, on all tasks."""
    number = {task.id: place for place, task in enumerate(game.tasks)}
    known: dict[Coalition, list[float]] = {}
    answers: dict[Request, float | None] = {}
    for request in requests:
        if request.coalition not in known:
            known[request.coalition] = _scores(game, request.coalition, noise, shared_noise)
        answers[request] = known[request.coalition][number[request.task]]
    return answers


def _scores(game: PlantedGame, coalition: Coalition, noise: Noise, shared_noise: SharedNoise) -> list[float]:
    """The scores of one coalition on all tasks; the bare agent is drawn as a prompt of its own."""
    all_tasks = np.arange(len(game.tasks), dtype=np.int64)[None, :]
    if coalition:
        mask = game.column_mask([coalition])
        draws = shared_noise.draw_for_prefixes(np.flatnonzero(mask[0])[None, :], all_tasks)[0, -1]
        chances = game.chances(mask, noise)[0]
    else:
        draws, chances = shared_noise.draw_for_bare_agent(all_tasks)[0], noise.chances(game.features.bare)
    scores: list[float] = (draws < chances).astype(np.float64).tolist()
    return scores
