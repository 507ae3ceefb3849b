"""V(empty), V({m}) and V(N) of an adaptive run, with the trigger value and the content lift."""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.observed import Floats, Numbers, Observed
from skillsv.model.value import Anchors, Interval

Cells = tuple[Floats, Floats]
"""Per task the mean score, and the number of answers behind it."""


def anchors_of(observed: Observed, level: float) -> tuple[Anchors, Interval, Interval]:
    """The anchors over the whole panel, theta_m and Lambda."""
    tasks, net = len(observed.tasks), observed.net
    least, most = ~net.present.any(axis=1), net.present.all(axis=1)
    empty = _cells(*observed.bare, tasks)
    trigger = _cells(net.task[least], net.score[least], tasks)
    full = _cells(net.task[most], net.score[most], tasks)
    noisy = observed.noisy
    anchors = Anchors(
        empty=_mean([empty], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        trigger=_mean([trigger], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
        full=_mean([full], [1.0], level, noisy=noisy, bounds=(0.0, 1.0)),
    )
    trigger_value = _mean([trigger, empty], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))
    return anchors, trigger_value, _mean([full, trigger], [1.0, -1.0], level, noisy=noisy, bounds=(-1.0, 1.0))


def _cells(task: Numbers, score: Floats, tasks: int) -> Cells:
    count = np.bincount(task, minlength=tasks).astype(np.float64)
    total = np.bincount(task, weights=score, minlength=tasks)
    return np.divide(total, count, out=np.full(tasks, np.nan), where=count > 0), count


def _mean(
    parts: list[Cells], signs: list[float], level: float, *, noisy: bool, bounds: tuple[float, float]
) -> Interval:
    """The mean over tasks of a signed sum. Tasks that are missing, and the agent's noise, make the interval wide."""
    from scipy.special import ndtri  # type: ignore[import-untyped]

    value = np.sum([sign * mean for (mean, _), sign in zip(parts, signs, strict=True)], axis=0)
    there = ~np.isnan(value)
    known = int(there.sum())
    if not known:
        return Interval(float(np.clip(0.0, *bounds)), *bounds)
    mean = float(value[there].mean())
    variance = (1.0 - known / len(value)) * float(value[there].var()) / max(known - 1, 1)
    if noisy:
        variance += sum(_noise(mean_of[there], count[there]) for mean_of, count in parts) / known**2
    half = float(ndtri(0.5 + level / 2)) * variance**0.5
    return Interval(mean, float(np.clip(mean - half, *bounds)), float(np.clip(mean + half, *bounds)))


def _noise(mean: Floats, count: Floats) -> float:
    """The variance that chance adds to a sum over tasks: at most that of a coin with the panel's own rate."""
    rate = (float(mean.sum()) + 1.0) / (len(mean) + 2.0)
    return float((rate * (1.0 - rate) / count).sum())
