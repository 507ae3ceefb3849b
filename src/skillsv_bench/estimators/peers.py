"""Other packages' estimators on a family game, each with the target that it estimates.

Their coalitions know no dependencies: a unit that lacks one it needs is dropped. Every coalition is scored on one task,
tasks in rotation, and the task's mean over both anchors is subtracted, so that tasks do not add noise.

- LASSO is ContextCite's solver: scores regressed on presence, units present with probability 1/2. Its target is the
  least squares weight of each unit under these coalitions.
- KernelSHAP and Leverage SHAP come from shapiq. Their target is the Shapley value over all orders alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from skillsv.model.coalition import Coalition
from skillsv_bench.families import FamilyGame, FamilyNoise, FamilyPlayer
from skillsv_bench.planted.game import Bools, Floats

TARGET_ROWS = 3000
"""Coalitions for LASSO's target, and about as many prefixes of orders for the Shapley value: error below .001."""

LASSO = "LASSO (ContextCite)"
KERNEL = "KernelSHAP (shapiq)"
LEVERAGE = "Leverage SHAP (shapiq)"

NEEDS = {LASSO: "sklearn", KERNEL: "shapiq", LEVERAGE: "shapiq"}
"""The package that each peer needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAnswer:
    """The values of one peer, and its own target on the tasks of the panel."""

    arm: str
    rollouts: int
    values: Floats
    target: Floats


def installed_peers() -> tuple[str, ...]:
    """The peers whose package is installed."""
    return tuple(peer for peer, package in NEEDS.items() if find_spec(package) is not None)


def peer_answers(
    game: FamilyGame, noise: FamilyNoise, seed: int, budgets: Sequence[int], peers: Sequence[str]
) -> Iterator[PeerAnswer]:
    """Every peer at every budget; none where the budget does not even pay for the anchors and a row per unit."""
    units, tasks = len(game.compiled.execution), len(game.tasks)
    shapley = _shapley_target(game, noise, seed) if {KERNEL, LEVERAGE} & set(peers) else np.zeros(units)
    for peer in peers:
        target = _lasso_target(game, noise, seed) if peer == LASSO else shapley
        for budget in budgets:
            if budget < 2 * tasks + units:
                continue
            scores = _CentredScores(game, FamilyPlayer(game, noise, seed))
            rows = budget - 2 * tasks
            values = _lasso(scores, units, rows, seed) if peer == LASSO else _shapiq(peer, scores, units, rows, seed)
            yield PeerAnswer(arm=peer, rollouts=budget, values=values, target=target)


class _CentredScores:
    """Scores of coalitions, one task each, minus the mean of that task's anchors."""

    def __init__(self, game: FamilyGame, player: FamilyPlayer) -> None:
        self._game, self._player, self._asked = game, player, 0
        units = np.arange(len(game.compiled.execution))
        tasks = list(range(len(game.tasks)))
        ends = [self._score(np.repeat((units >= 0)[None, :] & full, len(tasks), axis=0), tasks) for full in (0, 1)]
        self.centre = np.mean(ends, axis=0)
        self.ends = [float(end.mean() - self.centre.mean()) for end in ends]

    def of(self, coalitions: Bools) -> Floats:
        """The score of each row."""
        tasks = [(self._asked + row) % len(self.centre) for row in range(len(coalitions))]
        self._asked += len(coalitions)
        centred: Floats = self._score(coalitions, tasks) - self.centre[tasks]
        return centred

    def _score(self, coalitions: Bools, tasks: Sequence[int]) -> Floats:
        return self._player.score(_as_sets(self._game, coalitions), tasks, ["peer"] * len(tasks))


def _as_sets(game: FamilyGame, coalitions: Bools) -> list[Coalition]:
    """Coalitions of unit ids without the units that lack one they need."""
    units, trigger = game.compiled.execution, game.compiled.trigger
    return [
        frozenset([trigger, *(unit for unit, kept in zip(units, row.tolist(), strict=True) if kept)])
        for row in _closed(game, coalitions)
    ]


def _closed(game: FamilyGame, coalitions: Bools) -> Bools:
    """Drop units that lack one they need, until none is left."""
    column = {unit: place for place, unit in enumerate(game.compiled.execution)}
    needs = [
        (column[unit], column[needed])
        for unit in game.compiled.execution
        for needed in game.compiled.needs.get(unit, ())
        if needed in column
    ]
    closed = coalitions.copy()
    for _ in range(len(column)):
        before = int(closed.sum())
        for unit, needed in needs:
            closed[:, unit] &= closed[:, needed]
        if int(closed.sum()) == before:
            break
    return closed


def _lasso(scores: _CentredScores, units: int, rows: int, seed: int) -> Floats:
    from sklearn.linear_model import LassoCV  # type: ignore[import-untyped]

    present = np.random.default_rng([seed, 31]).random((rows, units)) < 0.5
    fit = LassoCV(cv=5, max_iter=3000).fit(present.astype(float), scores.of(present))
    return np.asarray(fit.coef_, dtype=np.float64)


def _shapiq(peer: str, scores: _CentredScores, units: int, rows: int, seed: int) -> Floats:
    from shapiq.approximator import KernelSHAP

    low, high = scores.ends

    def play(coalitions: Bools) -> Floats:
        held = coalitions.astype(np.bool_)
        sizes = held.sum(axis=1)
        result = np.where(sizes == 0, low, high)
        inner = (sizes > 0) & (sizes < units)
        result[inner] = scores.of(held[inner])
        return result

    # Leverage scores give all sizes the same weight; KernelSHAP prefers very small and very large coalitions.
    weights = np.ones(units + 1) if peer == LEVERAGE else None
    approximator = KernelSHAP(units, pairing_trick=True, sampling_weights=weights, random_state=seed)
    found = approximator.approximate(rows + 2, play)
    return np.array([found[(unit,)] for unit in range(units)], dtype=np.float64)


def _lasso_target(game: FamilyGame, noise: FamilyNoise, seed: int) -> Floats:
    """Least squares weights of the expected panel scores under fair coins."""
    units = len(game.compiled.execution)
    present = np.random.default_rng([seed, 37]).random((TARGET_ROWS, units)) < 0.5
    means = game.chances(_closed(game, present), noise).mean(axis=1)
    design = np.column_stack([np.ones(TARGET_ROWS), present])
    weights: Floats = np.linalg.lstsq(design, means, rcond=None)[0][1:]
    return weights


def _shapley_target(game: FamilyGame, noise: FamilyNoise, seed: int) -> Floats:
    """The Shapley value over orders that ignore dependencies, by sampled orders."""
    units = len(game.compiled.execution)
    rng = np.random.default_rng([seed, 41])
    total, orders = np.zeros(units), max(TARGET_ROWS // units, 60)
    steps = np.arange(units + 1)[:, None]
    for _ in range(orders):
        order = rng.permutation(units)
        prefixes = np.argsort(order)[None, :] < steps
        total[order] += np.diff(game.chances(_closed(game, prefixes), noise).mean(axis=1))
    return total / orders
