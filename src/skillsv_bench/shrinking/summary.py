"""Tables and claims from the trials of a shrink study, with standard errors over games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv_bench.shrinking.study import NEAR, Trial

BARS = {400: 0.08, 800: 0.18, 1600: 0.30}
"""Proven tokens that `shrink` should reach with a noisy agent, at a drop of 5 points."""

SAME_TASKS_BAR = (1600, 0.25)
"""Proven tokens on the same tasks, without held-out ones."""

STEADY_BAR = (800, 0.40)
"""Proven tokens with a steady agent."""

MOST_WRONG = 0.01
"""Share of the sets that lose more than the limit that may pass."""

MOST_NEAR = 0.05
"""The same share among sets that lose 1 to 1.5 times the limit."""

MOST_OFF = 0.1
"""Difference between the mean forecast of the power and the share that passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One arm at one budget: the mean share of tokens removed and proven, and how often the proof passed."""

    study: str
    arm: str
    rollouts: int
    games: int
    proven: float
    error: float
    passed: float
    forecast: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A bar, what was measured, and whether it holds."""

    text: str
    measured: str
    holds: bool


def rows_of(study: str, trials: Sequence[Trial]) -> list[Row]:
    """One row per arm and budget."""
    arms = ("shrink", "random", "oracle")
    found = []
    for rollouts in sorted({trial.rollouts for trial in trials}):
        for arm in arms:
            mine = [trial for trial in trials if trial.arm == arm and trial.rollouts == rollouts]
            if mine:
                found.append(_row(study, arm, rollouts, mine))
    return found


def _row(study: str, arm: str, rollouts: int, trials: Sequence[Trial]) -> Row:
    proven = np.array([trial.share * trial.passed for trial in trials])
    forecasts = [trial.forecast for trial in trials if trial.forecast is not None]
    return Row(
        study=study,
        arm=arm,
        rollouts=rollouts,
        games=len(trials),
        proven=float(proven.mean()),
        error=float(proven.std(ddof=1) / len(proven) ** 0.5) if len(proven) > 1 else 0.0,
        passed=float(np.mean([trial.first_passed if arm == "shrink" else trial.passed for trial in trials])),
        forecast=float(np.mean(forecasts)) if forecasts else None,
    )


def claims(rows: Sequence[Row], trials: Sequence[Trial], *, max_drop: float) -> list[Claim]:
    """The bars, each with what was measured."""
    found = [_proven_claim(row, BARS[row.rollouts]) for row in _shrinks(rows, "noisy") if row.rollouts in BARS]
    for study, (rollouts, bar) in (("same tasks", SAME_TASKS_BAR), ("steady", STEADY_BAR)):
        found += [_proven_claim(row, bar) for row in _shrinks(rows, study) if row.rollouts == rollouts]
    usual = [trial for trial in trials if trial.arm != "near limit"]
    found.append(_wrong_claim("lose more than the limit", usual, max_drop, np.inf, MOST_WRONG))
    found.append(_wrong_claim(f"lose 1 to {NEAR} times the limit", trials, max_drop, NEAR * max_drop, MOST_NEAR))
    for row in _shrinks(rows, "noisy"):
        off = abs((row.forecast or 0.0) - row.passed)
        measured = f"forecast {row.forecast:.2f}, passed {row.passed:.2f}"
        found.append(Claim(text=f"power forecast at {row.rollouts:,}", measured=measured, holds=off <= MOST_OFF))
    return found


def _shrinks(rows: Sequence[Row], study: str) -> list[Row]:
    return [row for row in rows if row.study == study and row.arm == "shrink"]


def _proven_claim(row: Row, bar: float) -> Claim:
    return Claim(
        text=f"{row.study}, {row.rollouts:,} rollouts: proven tokens at least {bar:.2f}",
        measured=f"{row.proven:.3f} ± {row.error:.3f} ({row.games} games)",
        holds=row.proven >= bar,
    )


def _wrong_claim(text: str, trials: Sequence[Trial], above: float, below: float, most: float) -> Claim:
    lossy = [trial for trial in trials if trial.arm != "oracle" and above < trial.drop <= below]
    passed = sum(trial.passed for trial in lossy)
    share = passed / len(lossy) if lossy else 0.0
    return Claim(
        text=f"of sets that really {text} at most {most:.0%} pass",
        measured=f"{share:.2%} ({passed} of {len(lossy)})",
        holds=share <= most,
    )
