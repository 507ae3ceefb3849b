"""Which units a shorter skill leaves out: the set with the most expected proven tokens. Pure.

Expected proven tokens of a set are its tokens times the chance that its proof succeeds. The chance is averaged over
draws of what the set really loses, so a set that is large and doubtful loses against one that is smaller and safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from skillsv.confirmation import Gate
from skillsv.confirmation.power import ProofSize, expected_power
from skillsv.decide.deletion_sets import DeletionSet, candidate_sets, neighbours
from skillsv.estimate.adaptive.deletion_draws import DeletionDraws
from skillsv.model.value import Interval

SMALLER = 0.75
"""Share of the first set's tokens that the next set has at most: a nearly equal set would fail like the first."""

MOST_CHANGES = 40
"""Improvements of one set by adding or taking back single units."""

GIVEN_AWAY = 0.5
"""Share of the allowed loss that a set may lose against the best set: what removing harm gains is not spent."""

LEAST_POWER = 0.02
"""A set whose proof is less likely to succeed is not proposed at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSet:
    """A set to delete. `power`: the forecast chance of its proof. `drop`: the posterior mean of its loss, with bounds.

    The mean is computed from draws that did not choose the set, and is larger than theirs by what choosing hides. For a
    set that trials chose it is what they saw; `basis` then says on which tasks.
    """

    removed: DeletionSet
    tokens: int
    power: float
    drop: Interval
    basis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Evaluates sets by the draws that choose. `least_drop` is the mean loss of the best set; it may be a gain."""

    draws: DeletionDraws
    groups: Mapping[str, DeletionSet]
    tokens: Mapping[str, int]
    size: ProofSize
    gate: Gate
    least_drop: float

    def best(self, options: Sequence[DeletionSet]) -> tuple[DeletionSet, float]:
        """The set with the most expected proven tokens, and these tokens; 0 for sets that give a gain away."""
        drops = self.draws.of_sets(set_masks(self.draws, options))
        power = expected_power(self.gate, self.size, drops.variance(self.size.pairs, self.size.tasks), drops.if_chosen)
        kept = keeps_gains(drops.if_chosen.mean(axis=1), self.gate, self.least_drop)
        worth = power * kept * [self.count(one) for one in options]
        place = int(np.argmax(worth))
        return options[place], float(worth[place])

    def count(self, removed: DeletionSet) -> int:
        """The tokens of a set."""
        return sum(self.tokens[unit] for unit in removed)

    def improve(self, removed: DeletionSet) -> DeletionSet:
        """Add or take back units one by one, while that is worth more."""
        best, worth = self.best([removed])
        for _ in range(MOST_CHANGES):
            options = [other for other in neighbours(best, self.groups) if other]
            if not options:
                break
            other, more = self.best(options)
            if more <= worth * (1 + 1e-6):
                break
            best, worth = other, more
        return best


def keeps_gains(drops: npt.NDArray[np.float64], gate: Gate, least: float) -> npt.NDArray[np.bool_]:
    """Whether sets that lose this much keep what the best set, with the loss `least`, gains."""
    return drops <= least + GIVEN_AWAY * gate.max_drop


def forecast_power(
    draws: DeletionDraws, options: Sequence[DeletionSet], gate: Gate, size: ProofSize
) -> npt.NDArray[np.float64]:
    """For each set the chance, averaged over the draws, that its proof succeeds."""
    drops = draws.of_sets(set_masks(draws, options))
    return expected_power(gate, size, drops.variance(size.pairs, size.tasks), drops.if_chosen)


def set_masks(draws: DeletionDraws, options: Sequence[DeletionSet]) -> npt.NDArray[np.bool_]:
    """The units of each set, as the draws take them [sets, units]."""
    rows = [[unit in removed for unit in draws.units] for removed in options]
    return np.array(rows, dtype=np.bool_).reshape(len(options), len(draws.units))


def choose_sets(
    draws: DeletionDraws,
    checks: DeletionDraws,
    *,
    groups: Mapping[str, DeletionSet],
    tokens: Mapping[str, int],
    size: ProofSize,
    gates: Sequence[Gate],
) -> tuple[ChosenSet, ...]:
    """The sets to prove in turn, one for each gate: the best one, then the best among clearly smaller ones.

    `draws` choose, `checks` are other draws of the same posterior. Sets that can hardly be proven are left out.
    """
    candidates = candidate_sets(_orders(draws, tokens), groups)
    least = min(draws.of_sets(set_masks(draws, candidates)).if_chosen.mean(axis=1).tolist(), default=0.0)
    search = _Search(draws=draws, groups=groups, tokens=tokens, size=size, gate=gates[0], least_drop=least)
    chosen: list[ChosenSet] = []
    most = float("inf")
    for gate in gates:
        search = replace(search, gate=gate)
        options = [removed for removed in candidates if 0 < search.count(removed) <= most]
        if not options:
            break
        best, worth = search.best(options)
        if worth <= 0.0:
            break
        described = _describe(search, checks, best if chosen else search.improve(best))
        if described.power < LEAST_POWER:
            break
        chosen.append(described)
        most = SMALLER * described.tokens
    return tuple(chosen)


def _describe(search: _Search, checks: DeletionDraws, removed: DeletionSet) -> ChosenSet:
    drop = checks.of_sets(set_masks(checks, [removed])).if_chosen[0]
    low, high = np.quantile(drop, [0.025, 0.975]).tolist()
    return ChosenSet(
        removed=removed,
        tokens=search.count(removed),
        power=float(forecast_power(checks, [removed], search.gate, search.size)[0]),
        drop=Interval(float(drop.mean()), low, high),
    )


def _orders(draws: DeletionDraws, tokens: Mapping[str, int]) -> list[list[str]]:
    """The units in four orders: by mean effect, cautiously, by the chance of an effect, and by effect per token."""
    mean, spread = draws.mean_weights()
    length = np.array([max(tokens[unit], 1) for unit in draws.units])
    keys = (mean, mean + spread, mean / np.maximum(spread, 1e-9), (mean + spread / 2) / length)
    return [[draws.units[place] for place in np.argsort(key, kind="stable")] for key in keys]
