"""How good an answer is: error, rank correlation, coverage, decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.benchmarks.estimators.arms import Answer
from skillsv.benchmarks.planted.game import Floats
from skillsv.model.value import Estimate, Evidence, UnitValue

SLACK = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One answer against the truth. Coverage and decisions are None for methods that give no intervals.

    `decided` counts units with a verdict on the sign or on being about zero, `false` those verdicts that are wrong.
    """

    arm: str
    rollouts: int
    error: float
    spearman: float
    covered: float | None = None
    plain: float | None = None
    decided: int = 0
    false: int = 0
    units: int = 0


def judge(answer: Answer, truth: Floats) -> Quality:
    """Everything about one answer."""
    estimate = answer.estimate
    covered = plain = None
    decided = false = 0
    if estimate is not None:
        covered = _covered(estimate.units, truth)
        if estimate.units and estimate.units[0].plain is not None:
            plain = _covered(estimate.units, truth, plain=True)
        decided, false = _decisions(estimate, truth)
    return Quality(
        arm=answer.arm,
        rollouts=answer.rollouts,
        error=error_over_spread(answer.values, truth),
        spearman=rank_correlation(answer.values, truth),
        covered=covered,
        plain=plain,
        decided=decided,
        false=false,
        units=len(truth),
    )


def error_over_spread(values: Floats, truth: Floats) -> float:
    """RMSE over the spread of the true values: 1 is what the constant scores that knows the lift."""
    return float(np.sqrt(np.mean((values - truth) ** 2)) / truth.std())


def rank_correlation(values: Floats, truth: Floats) -> float:
    """Spearman's rho; zero where a method calls all units alike."""
    from scipy.stats import spearmanr  # type: ignore[import-untyped]

    return float(spearmanr(values, truth).statistic) if np.ptp(values) > 0 else 0.0


def _covered(units: Sequence[UnitValue], truth: Floats, *, plain: bool = False) -> float:
    held = [
        interval.low - SLACK <= value <= interval.high + SLACK
        for interval, value in zip(
            ((unit.plain if plain else unit.net) or unit.net for unit in units), truth, strict=True
        )
    ]
    return float(np.mean(held))


def _decisions(estimate: Estimate, truth: Floats) -> tuple[int, int]:
    decided = false = 0
    for unit, value in zip(estimate.units, truth.tolist(), strict=True):
        wrong = {
            Evidence.POSITIVE: value <= SLACK,
            Evidence.NEGATIVE: value >= -SLACK,
            Evidence.NEGLIGIBLE: abs(value) > estimate.resolution,
        }
        if unit.evidence in wrong:
            decided += 1
            false += wrong[unit.evidence]
    return decided, false


def rollouts_to_reach(target: float, budgets: Sequence[int], errors: Sequence[float]) -> float | None:
    """The rollouts at which a falling error curve first meets the target, between two budgets on the log scale."""
    for place, error in enumerate(errors):
        if error <= target:
            if place == 0:
                return float(budgets[0])
            share = (errors[place - 1] - target) / (errors[place - 1] - error)
            return float(budgets[place - 1] * (budgets[place] / budgets[place - 1]) ** share)
    return None
