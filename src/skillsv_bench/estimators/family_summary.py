"""The comparison on family games as rows (means with standard errors over games) and as a bar of claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv_bench.estimators import arms
from skillsv_bench.estimators.family_study import TUNING_KINDS, FamilyComparison, FamilyQuality
from skillsv_bench.estimators.summary import Claim, Mean, mean_of

ALL = "all kinds"
"""The kind of a row that averages over kinds."""

VERDICTS = 50
"""Verdicts that a cell needs before its share of false ones is held against the bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRow:
    """One method on one kind under one noise; shares are pooled over the units of all games.

    `tuned`: constants were chosen on games of this kind (of other seeds).
    """

    noise: str
    kind: str
    tuned: bool
    arm: str
    games: int
    rollouts: Mean
    error: Mean
    spearman: Mean
    slope: Mean
    own_error: Mean | None
    covered: Mean | None
    covered_matter: float | None
    covered_new: Mean | None
    half_width: float | None
    decided: float | None
    verdicts: int
    false: float | None


def family_table(comparisons: Sequence[FamilyComparison]) -> list[FamilyRow]:
    """All rows, noise by noise: each kind, then the mean over kinds."""
    grouped: dict[tuple[str, str, str], list[FamilyQuality]] = {}
    for noise in dict.fromkeys(comparison.noise for comparison in comparisons):
        mine = [comparison for comparison in comparisons if comparison.noise == noise]
        for kind, parts in [*((one.kind, [one]) for one in mine), (ALL, mine)]:
            for comparison in parts:
                for quality in comparison.qualities:
                    grouped.setdefault((noise, kind, quality.arm), []).append(quality)
    return [_row(*key, qualities) for key, qualities in grouped.items()]


def _row(noise: str, kind: str, arm: str, qualities: Sequence[FamilyQuality]) -> FamilyRow:
    with_intervals = [quality for quality in qualities if quality.covered is not None]
    own = [quality.own_error for quality in qualities if quality.own_error is not None]
    units, verdicts = _total(qualities, "units"), _total(qualities, "decided")
    matter = _total(with_intervals, "matter")
    return FamilyRow(
        noise=noise,
        kind=kind,
        tuned=kind in TUNING_KINDS,
        arm=arm,
        games=len(qualities),
        rollouts=mean_of([quality.rollouts for quality in qualities]),
        error=mean_of([quality.error for quality in qualities]),
        spearman=mean_of([quality.spearman for quality in qualities]),
        slope=mean_of([quality.slope for quality in qualities]),
        own_error=mean_of(own) if own else None,
        covered=_share(with_intervals, "covered"),
        covered_matter=_total(with_intervals, "covered_matter") / matter if matter else None,
        covered_new=_share(with_intervals, "covered_new"),
        half_width=float(np.mean([quality.half_width for quality in with_intervals])) if with_intervals else None,
        decided=verdicts / units if with_intervals else None,
        verdicts=verdicts,
        false=_total(qualities, "false") / verdicts if verdicts else None,
    )


def _total(qualities: Sequence[FamilyQuality], field: str) -> int:
    return int(sum(getattr(quality, field) for quality in qualities))


def _share(qualities: Sequence[FamilyQuality], field: str) -> Mean | None:
    return mean_of([getattr(quality, field) / quality.units for quality in qualities]) if qualities else None


def family_claims(comparisons: Sequence[FamilyComparison], budgets: Sequence[int]) -> list[Claim]:
    """What was asked of the adaptive estimator, with the worst cell of each line."""
    rows = [row for row in family_table(comparisons) if row.kind != ALL]
    auto = {budget: [row for row in rows if row.arm == arms.auto_arm(budget)] for budget in budgets}
    late = [row for budget in budgets if budget >= 400 for row in auto[budget]]
    steady = [row for budget in budgets if budget >= 600 for row in auto[budget] if row.noise == "T=0"]
    judged = [row for mine in auto.values() for row in mine if row.verdicts >= VERDICTS]
    made = [
        _worst("all units covered at least 92 %, from 400 rollouts", late, lambda row: _value(row.covered), 0.92),
        _most("all units covered at most 99 %, from 400 rollouts", late, lambda row: _value(row.covered), 0.99),
        _worst("units above 1 point covered at least 90 %, from 400", late, lambda row: row.covered_matter, 0.9),
        _worst("all units covered at least 90 % at 200", auto.get(200, []), lambda row: _value(row.covered), 0.9),
        _worst("covered on new tasks at least 92 %, from 400", late, lambda row: _value(row.covered_new), 0.92),
        _most(f"false verdicts at most 2 % ({VERDICTS} verdicts or more)", judged, lambda row: row.false, 0.02),
        _worst("T=0: slope at least .9 from 600 rollouts", steady, lambda row: row.slope.value, 0.9),
    ]
    return [*(claim for claim in made if claim is not None), *_saved(comparisons), *_told_apart(comparisons)]


Reading = Callable[[FamilyRow], float | None]


def _value(mean: Mean | None) -> float | None:
    return None if mean is None else mean.value


def _worst(text: str, rows: Sequence[FamilyRow], read: Reading, least: float) -> Claim | None:
    return _bound(text, rows, lambda row: -value if (value := read(row)) is not None else None, -least, sign=-1)


def _most(text: str, rows: Sequence[FamilyRow], read: Reading, most: float) -> Claim | None:
    return _bound(text, rows, read, most, sign=1)


def _bound(text: str, rows: Sequence[FamilyRow], read: Reading, bound: float, *, sign: int) -> Claim | None:
    found = [(value, row) for row in rows if (value := read(row)) is not None]
    if not found:
        return None
    worst, row = max(found, key=lambda pair: pair[0])
    missed = sum(value > bound + 1e-9 for value, _ in found)
    measured = f"worst {sign * worst:.3f} ({row.noise} {row.kind}, {row.arm}); {missed} of {len(found)} cells miss"
    return Claim(text=text, measured=measured, holds=not missed)


def _saved(comparisons: Sequence[FamilyComparison]) -> list[Claim]:
    steady = [comparison for comparison in comparisons if comparison.noise == "T=0"]
    kinds = {
        kind: mean_of([one.saved for one in steady if one.kind == kind and one.saved is not None] or [0.0])
        for kind in dict.fromkeys(one.kind for one in steady)
    }
    if not kinds:
        return []
    never = sum(comparison.saved is None for comparison in steady)
    average = float(np.mean([mean.value for mean in kinds.values()]))
    worst = min(kinds, key=lambda kind: kinds[kind].value)
    missed = f" ({never} games never reached it)" if never else ""
    return [
        Claim(
            text="T=0: at least 3 times fewer rollouts than Algorithm 1 (K=12) at equal error, mean over kinds",
            measured=f"{average:.2f} times{missed}",
            holds=average >= 3.0 and not never,
        ),
        Claim(
            text="T=0: worst kind at least 1.5 times fewer",
            measured=f"{worst} {kinds[worst]} times",
            holds=kinds[worst].value >= 1.5,
        ),
    ]


def _told_apart(comparisons: Sequence[FamilyComparison]) -> list[Claim]:
    steady = [comparison for comparison in comparisons if comparison.noise == "T=0"]
    noisy = [comparison for comparison in comparisons if comparison.noise != "T=0"]
    made = []
    if steady:
        wrong = [one.kind for one in steady if one.noisy_after is not None]
        measured = f"{len(wrong)} of {len(steady)} games" + (f" ({', '.join(sorted(set(wrong)))})" if wrong else "")
        made.append(Claim(text="T=0: no game is called noisy", measured=measured, holds=not wrong))
    if noisy:
        missed = sum(comparison.noisy_after is None for comparison in noisy)
        made.append(
            Claim(
                text="a noisy agent is called noisy",
                measured=f"{len(noisy) - missed} of {len(noisy)}",
                holds=not missed,
            )
        )
    return made
