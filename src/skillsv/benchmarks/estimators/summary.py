"""The study as a table: one row a method and noise, means with standard errors over games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skillsv.benchmarks.estimators import arms
from skillsv.benchmarks.estimators.study import SAME_ROLLOUTS, LateNoise, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean with its standard error (None with a single game)."""

    value: float
    error: float | None = None

    def __str__(self) -> str:
        return f"{self.value:.2f}" if self.error is None else f"{self.value:.2f}±{self.error:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method under one kind of noise. `false` is the share of wrong verdicts among all verdicts."""

    noise: str
    arm: str
    rollouts: Mean
    error: Mean
    spearman: Mean
    covered: Mean | None
    plain: Mean | None
    decided: float | None
    false: float | None
    games: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One line of the bar: what was asked for, what was measured, and whether it holds."""

    text: str
    measured: str
    holds: bool


def mean_of(values: Sequence[float]) -> Mean:
    """The mean and its standard error."""
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return Mean(value=float(np.mean(values)), error=spread)


def table(trials: Sequence[Trial]) -> list[Row]:
    """All rows, noise by noise, methods in the order they were played."""
    rows = []
    for noise in dict.fromkeys(trial.noise for trial in trials):
        mine = [trial for trial in trials if trial.noise == noise]
        rows += [_row(noise, quality.arm, mine) for quality in mine[0].qualities]
    return rows


def _row(noise: str, arm: str, trials: Sequence[Trial]) -> Row:
    found = [quality for quality in (trial.of(arm) for trial in trials) if quality is not None]
    covered = [quality.covered for quality in found if quality.covered is not None]
    plain = [quality.plain for quality in found if quality.plain is not None]
    decided, units = sum(quality.decided for quality in found), sum(quality.units for quality in found)
    return Row(
        noise=noise,
        arm=arm,
        rollouts=mean_of([quality.rollouts for quality in found]),
        error=mean_of([quality.error for quality in found]),
        spearman=mean_of([quality.spearman for quality in found]),
        covered=mean_of(covered) if covered else None,
        plain=mean_of(plain) if plain else None,
        decided=decided / units if covered else None,
        false=sum(quality.false for quality in found) / decided if decided else None,
        games=len(found),
    )


def claims(trials: Sequence[Trial], budgets: Sequence[int], late: LateNoise, ratio: float | None) -> list[Claim]:
    """The bar of the adaptive estimator, line by line."""
    rows = {(row.noise, row.arm): row for row in table(trials)}
    found = [*_steady(trials, rows), *_stochastic(trials, rows, budgets), *_honest(rows, budgets)]
    found += [_pilot(trials), _late(late)]
    text = "both operators cost at most 2.2 times one, at equal mean error of the net effects"
    measured = "not reached" if ratio is None else f"{ratio:.2f} times"
    return [*found, Claim(text=text, measured=measured, holds=ratio is not None and ratio <= 2.2)]


def _steady(trials: Sequence[Trial], rows: dict[tuple[str, str], Row]) -> list[Claim]:
    saved = [trial for trial in trials if trial.saved is not None]
    if not saved:
        return []
    total = mean_of([trial.saved for trial in saved if trial.saved is not None])
    shapes = {
        shape: mean_of([trial.saved for trial in saved if trial.shape == shape and trial.saved is not None])
        for shape in dict.fromkeys(trial.shape for trial in saved)
    }
    worst = min(shapes, key=lambda shape: shapes[shape].value)
    never = sum(trial.noise == "T=0" for trial in trials) - len(saved)
    missed = f" ({never} games never reached it)" if never else ""
    made = [
        Claim(
            text="T=0: at least 5 times fewer rollouts than Algorithm 1 (K=12) at equal error, mean over games",
            measured=f"{total} times{missed}",
            holds=total.value >= 5 and not never,
        ),
        Claim(
            text="T=0: worst shape at least 2.5 times fewer",
            measured=f"{worst} {shapes[worst]} times",
            holds=shapes[worst].value >= 2.5,
        ),
    ]
    at = rows.get(("T=0", arms.auto_arm(1200)))
    if at is not None:
        text = "T=0: rmse/sd at most .37 at 1,200 rollouts"
        made.append(Claim(text=text, measured=str(at.error), holds=at.error.value <= 0.37))
    return made


def _stochastic(trials: Sequence[Trial], rows: dict[tuple[str, str], Row], budgets: Sequence[int]) -> list[Claim]:
    made = []
    others = [trial for trial in trials if trial.noise == "T=.5" and trial.shape != "alfworld"]
    last = [quality for quality in (trial.of(arms.auto_arm(4800)) for trial in others) if quality is not None]
    if last:
        error = mean_of([quality.error for quality in last])
        text = "T=.5: rmse/sd at most .75 at 4,800 rollouts, without the ALFWorld shape"
        made.append(Claim(text=text, measured=str(error), holds=error.value <= 0.75))
    for arm, same in SAME_ROLLOUTS.items() if last else ():
        theirs, ours = rows["T=.5", arm].spearman, rows["T=.5", same].spearman
        text = f"T=.5: Spearman at least twice that of {arm} at the same rollouts (at most {max(budgets):,})"
        made.append(Claim(text=text, measured=f"{ours} against {theirs}", holds=ours.value >= 2 * theirs.value))
    curve = [
        rows["lapse", arms.auto_arm(budget)].error for budget in budgets if ("lapse", arms.auto_arm(budget)) in rows
    ]
    if curve:
        falls = all(after.value <= before.value + 1e-9 for before, after in pairwise(curve))
        text = "lapse: error no worse with more budget"
        made.append(Claim(text=text, measured=", ".join(map(str, curve)), holds=falls))
    return made


def _honest(rows: dict[tuple[str, str], Row], budgets: Sequence[int]) -> list[Claim]:
    names = {arms.auto_arm(budget) for budget in budgets if budget >= 1200}
    mine = [row for (_, arm), row in rows.items() if arm in names and row.covered is not None]
    if not mine:
        return []
    spans = {f"{row.noise} {row.arm.removeprefix('auto, ')}": row.covered.value for row in mine if row.covered}
    low, high = min(spans, key=spans.__getitem__), max(spans, key=spans.__getitem__)
    false = {f"{row.noise} {row.arm.removeprefix('auto, ')}": row.false or 0.0 for row in mine}
    worst = max(false, key=false.__getitem__)
    return [
        Claim(
            text="95 % intervals cover 92 to 98 % in every case from 1,200 rollouts",
            measured=f"{spans[low]:.1%} ({low}) to {spans[high]:.1%} ({high})",
            holds=spans[low] >= 0.92 and spans[high] <= 0.98,
        ),
        Claim(
            text="false decisions at most 2 % of decisions in every case from 1,200 rollouts",
            measured=f"{false[worst]:.1%} ({worst})",
            holds=false[worst] <= 0.02,
        ),
    ]


def _pilot(trials: Sequence[Trial]) -> Claim:
    right = [
        (trial.noisy_after is not None and trial.noisy_after <= 1200) is (trial.noise != "T=0") for trial in trials
    ]
    return Claim(
        text="noise told apart within 1,200 rollouts in at least 98 % of games",
        measured=f"{sum(right)} of {len(right)}",
        holds=float(np.mean(right)) >= 0.98,
    )


def _late(late: LateNoise) -> Claim:
    return Claim(
        text="noise that starts in the middle of a run is noticed",
        measured=f"{late.noticed} of {late.runs} runs, after {late.delay:.0f} rollouts (median)",
        holds=late.noticed == late.runs,
    )
