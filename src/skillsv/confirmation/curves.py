"""Pruning curves: the score on panel B while units are removed, least valuable first, and the area under it.

A curve runs from the full skill (nothing removed) to the trigger alone (all removable tokens gone). Between its
checkpoints it is a straight line, so the area is a weighted sum of scores, task by task: to compare two methods is
to compare two numbers per task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skillsv.confirmation.gate import interval, intervals, pooled
from skillsv.confirmation.scoring import Floats, PanelScores
from skillsv.model.coalition import Coalition
from skillsv.model.edit import CurvePoint, PruneStep, PruningCurve
from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """Points of one pruning path: the coalitions, their tokens, and the share of removable tokens that is gone."""

    kept: tuple[Coalition, ...]
    tokens: tuple[int, ...]
    shares: tuple[float, ...]

    def weights(self) -> Floats:
        """The weight of each checkpoint in the area under the curve (trapezoids)."""
        gaps = np.diff(np.array(self.shares))
        weights: Floats = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2
        return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The area under one method's curve minus that under another's, on the same tasks."""

    first: str
    second: str
    difference: Interval


def choose_checkpoints(everything: Coalition, path: Sequence[PruneStep], tokens: int, checkpoints: int) -> Checkpoints:
    """The full skill, at most `checkpoints` steps evenly spread over the removed tokens, and the trigger alone."""
    left = np.minimum.accumulate([tokens, *(step.tokens_left for step in path)]).tolist()
    removable = left[0] - left[-1]
    shares = [(left[0] - count) / removable if removable else float(place > 0) for place, count in enumerate(left)]
    chosen = {0, len(path)}
    for target in np.linspace(0, 1, checkpoints + 2)[1:-1].tolist():
        free = [place for place in range(1, len(path)) if place not in chosen]
        if free:
            chosen.add(min(free, key=lambda place: (abs(shares[place] - target), place)))
    places = sorted(chosen)
    kept = (everything, *(step.kept for step in path))
    return Checkpoints(
        kept=tuple(kept[place] for place in places),
        tokens=tuple(left[place] for place in places),
        shares=tuple(shares[place] for place in places),
    )


def areas(scores: PanelScores, paths: Sequence[Checkpoints]) -> Floats:
    """The area under a method's curve, task by task; several paths (random orders) are averaged."""
    mean: Floats = np.mean([path.weights() @ scores.rows(path.kept) for path in paths], axis=0)
    return mean


def curve(
    method: str, scores: PanelScores, paths: Sequence[Checkpoints], *, level: float, rng: np.random.Generator
) -> PruningCurve:
    """A method's curve with intervals; several paths are averaged, at evenly spread shares."""
    shares, tokens, rows = _points(scores, paths)
    return PruningCurve(
        method=method,
        points=tuple(
            CurvePoint(share_removed=share, tokens_left=left, score=score)
            for share, left, score in zip(shares, tokens, intervals(rows, level, rng), strict=True)
        ),
        auc=interval(areas(scores, paths), level, rng),
    )


def _points(scores: PanelScores, paths: Sequence[Checkpoints]) -> tuple[Sequence[float], Sequence[int], Floats]:
    """Shares, tokens and rows of scores of a curve."""
    if len(paths) == 1:
        return paths[0].shares, paths[0].tokens, scores.rows(paths[0].kept)
    grid = np.linspace(0, 1, max(len(path.shares) for path in paths))
    rows = np.mean([_interpolation(path, grid) @ scores.rows(path.kept) for path in paths], axis=0)
    tokens = np.mean([_interpolation(path, grid) @ np.array(path.tokens) for path in paths], axis=0)
    return grid.tolist(), tokens.round().astype(int).tolist(), rows


def _interpolation(path: Checkpoints, grid: Floats) -> Floats:
    """Weights of the checkpoints at the shares of a grid: straight lines between neighbouring checkpoints."""
    size = len(path.shares)
    return np.stack([np.interp(grid, path.shares, np.eye(size)[place]) for place in range(size)], axis=1)


def comparisons(per_task: Mapping[str, Floats], *, level: float, rng: np.random.Generator) -> tuple[Comparison, ...]:
    """Every method against every later one: paired differences of their areas."""
    pairs = list(combinations(per_task, 2))
    if not pairs:
        return ()
    rows = np.stack([per_task[one] - per_task[other] for one, other in pairs])
    differences = intervals(rows, level, rng)
    return tuple(
        Comparison(first=one, second=other, difference=difference)
        for (one, other), difference in zip(pairs, differences, strict=True)
    )


def pooled_comparisons(skills: Sequence[Mapping[str, Sequence[float]]], *, level: float) -> tuple[Comparison, ...]:
    """Compare the methods that all skills have, over all skills. Each skill has areas by method, task by task."""
    shared = [method for method in skills[0] if all(method in skill for skill in skills)]
    rng = np.random.default_rng(len(skills))
    return tuple(
        Comparison(
            first=one,
            second=other,
            difference=pooled([np.array(skill[one]) - np.array(skill[other]) for skill in skills], level, rng),
        )
        for one, other in combinations(shared, 2)
    )
