"""Anchors on every task of the panel, the content lift, and the gap between the sum of values and the lift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.marginals import Floats, prefix_scores
from skillsv.model.coalition import ChainRecord, Operator, PanelAnchors, Scores
from skillsv.model.value import Anchors, Interval

TaskMeans = tuple[Floats, Floats]
"""Per task the mean score (NaN without a score), and the number of scores behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorScores:
    """The scores of the bare agent, of {m} and of the full skill, per task of the panel."""

    empty: TaskMeans
    trigger: TaskMeans
    full: TaskMeans

    @property
    def lift(self) -> Floats:
        """The content lift of every task; NaN where one of its scores is missing."""
        change: Floats = self.full[0] - self.trigger[0]
        return change


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSums:
    """The sum of all values as a sum over tasks: `total` over `weight`, both summed over tasks.

    `weight` is the weight of a task in the values: every chain gives the tasks of its window 1 together.
    """

    total: Floats
    weight: Floats

    @property
    def value(self) -> float:
        """The sum of all values, computed from the scores."""
        return float(self.total.sum() / self.weight.sum())


def panel_scores(panel: PanelAnchors) -> AnchorScores:
    """The stored anchors of a chain run as arrays."""
    return AnchorScores(
        empty=_single_scores(panel.empty), trigger=_single_scores(panel.trigger), full=_single_scores(panel.full)
    )


def _single_scores(scores: Scores) -> TaskMeans:
    mean = np.array(scores, dtype=np.float64)
    return mean, (~np.isnan(mean)).astype(np.float64)


def chain_sums(records: Sequence[ChainRecord], panel: PanelAnchors) -> TaskSums:
    """How much every task of the panel adds to the sum of values: its score after the last evaluated prefix minus {m}.

    It is read from the scores, not from the values, so that it does not share an error of the estimator.
    """
    number = {task: place for place, task in enumerate(panel.tasks)}
    total, weight = np.zeros(len(number)), np.zeros(len(number))
    for record in records:
        scores = prefix_scores(record, Operator.DELETE)
        last = len(scores) - 1 if record.truncated_at is None else record.truncated_at
        window = record.plan.window.tasks
        for task, change in zip(window, (scores[last] - scores[0]).tolist(), strict=True):
            if task in number and not np.isnan(change):
                total[number[task]] += change / len(window)
                weight[number[task]] += 1.0 / len(window)
    return TaskSums(total=total, weight=weight)


def gap_interval(
    total: float, anchors: AnchorScores, sums: TaskSums, *, level: float, replicates: int, rng: np.random.Generator
) -> Interval:
    """The sum of values minus the lift, with a bootstrap that draws tasks, for the sum and the lift together.

    The interval has its centre at the values' own sum: a sum that the scores do not explain moves it off zero.
    """
    lift = anchors.lift
    known = ~np.isnan(lift)
    tasks = len(lift)
    draws = rng.multinomial(tasks, np.full(tasks, 1.0 / tasks), size=replicates).astype(np.float64)
    weights = np.vstack([np.ones((1, tasks)), draws])
    gaps = _ratio(weights, sums.total, sums.weight) - _ratio(weights, np.where(known, lift, 0.0), known)
    low, high = np.nanquantile(gaps - gaps[0], [0.5 - level / 2, 0.5 + level / 2])
    gap = total - float(lift[known].mean())
    return Interval(gap, gap + min(float(low), 0.0), gap + max(float(high), 0.0))


def _ratio(weights: Floats, total: Floats, count: Floats) -> Floats:
    """For each row of weights the weighted total per weighted count; NaN where nothing is counted."""
    counts = weights @ count
    ratio = np.full(len(counts), np.nan)
    np.divide(weights @ total, counts, out=ratio, where=counts > 0)
    return ratio


def anchors_of(scores: AnchorScores, level: float, *, noisy: bool) -> tuple[Anchors, Interval, Interval]:
    """The anchors V(empty), V({m}) and V(N) (Eq. 3) over the panel, the trigger value theta_m and the content lift.

    theta_m = V({m}) - V(empty) and Lambda = V(N) - V({m}), both under deletion.
    """
    empty, trigger, full = scores.empty, scores.trigger, scores.full
    anchors = Anchors(
        empty=_mean_interval([empty], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        trigger=_mean_interval([trigger], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        full=_mean_interval([full], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
    )
    trigger_value = _mean_interval([trigger, empty], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))
    lift = _mean_interval([full, trigger], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))
    return anchors, trigger_value, lift


def _mean_interval(
    parts: list[TaskMeans], signs: list[float], level: float, *, noisy: bool, bounds: tuple[float, float]
) -> Interval:
    """The mean over tasks of a signed sum. Missing tasks and the agent's noise widen the interval."""
    from scipy.special import ndtri  # type: ignore[import-untyped]

    value = np.sum([sign * mean for (mean, _), sign in zip(parts, signs, strict=True)], axis=0)
    present = ~np.isnan(value)
    known = int(present.sum())
    if not known:
        return Interval(float(np.clip(0.0, *bounds)), *bounds)
    mean = float(value[present].mean())
    variance = (1.0 - known / len(value)) * float(value[present].var()) / max(known - 1, 1)
    if noisy:
        variance += sum(_noise_variance(task_mean[present], count[present]) for task_mean, count in parts) / known**2
    half = float(ndtri(0.5 + level / 2)) * variance**0.5
    return Interval(mean, float(np.clip(mean - half, *bounds)), float(np.clip(mean + half, *bounds)))


def _noise_variance(mean: Floats, count: Floats) -> float:
    """The variance that noise adds to a sum over tasks: at most that of pass or fail at the panel's mean rate."""
    rate = (float(mean.sum()) + 1.0) / (len(mean) + 2.0)
    return float((rate * (1.0 - rate) / count).sum())
