"""Whether two rankings agree more than by chance.

Why not scipy: it has no Holm correction (`false_discovery_control` corrects for something else); `permutation_test`
draws other permutations for the same seed, so the p of a recorded run would change; `kendalltau` differs in the last
digit from the batches of the permutations, and importing `scipy.stats` takes longer than all of this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skillsv.confirmation.scoring import Floats
from skillsv.errors import RecordsError
from skillsv.model.value import Ranking

PERMUTATIONS = 2000
"""Permutations of one test: the smallest possible p is 0.0005."""

_BATCH = 200
"""Permutations that are computed together; each takes a matrix of units by units."""

_ROUNDING = 1e-12
"""Two values of tau that differ by less are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Kendall's tau-b of two rankings. `p` by permutations, `p_holm` corrected for all pairs of rankings."""

    first: str
    second: str
    tau: float | None
    p: float | None
    p_holm: float | None = None


def agreements(rankings: Sequence[Ranking], rng: np.random.Generator) -> tuple[Agreement, ...]:
    """The agreement of every pair of rankings of the same units, with Holm's correction over all pairs."""
    pairs = []
    for one, other in combinations(rankings, 2):
        units = tuple(one.values)
        if set(units) != set(other.values):
            raise RecordsError(f"the rankings {one.method} and {other.method} are not of the same units.")
        left, right = ([ranking.values[unit].value for unit in units] for ranking in (one, other))
        p = permutation_p(left, right, rng)
        pairs.append(Agreement(first=one.method, second=other.method, tau=kendall_tau_b(left, right), p=p))
    corrected = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    return tuple(
        Agreement(
            first=pair.first,
            second=pair.second,
            tau=pair.tau,
            p=pair.p,
            p_holm=None if pair.p is None else next(corrected),
        )
        for pair in pairs
    )


def kendall_tau_b(one: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float | None:
    """Tau-b: concordant minus discordant pairs, scaled for ties; None where a ranking is all one tie."""
    first, second = _signs(np.asarray(one, dtype=np.float64)), _signs(np.asarray(other, dtype=np.float64))
    scale = math.sqrt(float(np.square(first).sum()) * float(np.square(second).sum()))
    return float((first * second).sum()) / scale if scale else None


def _signs(values: Floats) -> Floats:
    """+1, 0 or -1 for every ordered pair: which one ranks higher, ties as 0."""
    signs: Floats = np.sign(values[..., :, None] - values[..., None, :])
    return signs


def permutation_p(
    one: Sequence[float], other: Sequence[float], rng: np.random.Generator, *, permutations: int = PERMUTATIONS
) -> float | None:
    """Two-sided p of tau-b: the share of permutations of the second ranking whose tau is at least as far from zero."""
    observed = kendall_tau_b(one, other)
    if observed is None:
        return None
    first, values = _signs(np.asarray(one, dtype=np.float64)), np.asarray(other, dtype=np.float64)
    scale = math.sqrt(float(np.square(first).sum()) * float(np.square(_signs(values)).sum()))
    extreme, done = 0, 0
    while done < permutations:
        batch = min(_BATCH, permutations - done)
        shuffled = rng.permuted(np.broadcast_to(values, (batch, len(values))), axis=1)
        taus = (first * _signs(shuffled)).sum(axis=(1, 2)) / scale
        extreme += int((np.abs(taus) >= abs(observed) - _ROUNDING).sum())
        done += batch
    # The observed order counts as one of the permutations, so p is never zero.
    return (extreme + 1) / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: the probability that any of all comparisons looks this extreme by chance."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
