"""Pruning curves: the held-out score while units go, least valuable first, and the area under it.

A curve runs from the whole skill (nothing removed) to the trigger alone (all removable tokens gone). Between its
checkpoints it is a straight line, so the area is a weighted sum of scores, task by task: comparing two methods is
comparing two numbers per task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skillsv.confirm.gate import interval, intervals, pooled
from skillsv.confirm.scoring import Floats, HeldOut
from skillsv.model.coalition import Coalition
from skillsv.model.edit import CurvePoint, PruneStep, PruningCurve
from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The checkpoints of one pruning path: what is kept, its tokens, and the share of removable tokens that is gone."""

    kept: tuple[Coalition, ...]
    tokens: tuple[int, ...]
    shares: tuple[float, ...]

    def weights(self) -> Floats:
        """Weights of the checkpoints in the area under the curve (trapezoids)."""
        gaps = np.diff(np.array(self.shares))
        weights: Floats = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2
        return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The area under one method's curve minus that under another's, on the same tasks."""

    first: str
    second: str
    difference: Interval


def track(everything: Coalition, path: Sequence[PruneStep], tokens: int, checkpoints: int) -> Track:
    """The whole skill, at most `checkpoints` steps evenly spread over the tokens removed, and the trigger alone."""
    left = np.minimum.accumulate([tokens, *(step.tokens_left for step in path)]).tolist()
    removable = left[0] - left[-1]
    shares = [(left[0] - each) / removable if removable else float(place > 0) for place, each in enumerate(left)]
    chosen = {0, len(path)}
    for target in np.linspace(0, 1, checkpoints + 2)[1:-1].tolist():
        free = [place for place in range(1, len(path)) if place not in chosen]
        if free:
            chosen.add(min(free, key=lambda place: (abs(shares[place] - target), place)))
    places = sorted(chosen)
    kept = (everything, *(step.kept for step in path))
    return Track(
        kept=tuple(kept[place] for place in places),
        tokens=tuple(left[place] for place in places),
        shares=tuple(shares[place] for place in places),
    )


def areas(held: HeldOut, tracks: Sequence[Track]) -> Floats:
    """The area under a method's curve, task by task; several tracks (random orders) are averaged."""
    mean: Floats = np.mean([each.weights() @ held.rows(each.kept) for each in tracks], axis=0)
    return mean


def curve(
    method: str, held: HeldOut, tracks: Sequence[Track], *, level: float, rng: np.random.Generator
) -> PruningCurve:
    """A method's curve with intervals; of several tracks the average, at evenly spread shares."""
    shares, tokens, scores = _points(held, tracks)
    return PruningCurve(
        method=method,
        points=tuple(
            CurvePoint(share_removed=share, tokens_left=left, score=score)
            for share, left, score in zip(shares, tokens, intervals(scores, level, rng), strict=True)
        ),
        auc=interval(areas(held, tracks), level, rng),
    )


def _points(held: HeldOut, tracks: Sequence[Track]) -> tuple[Sequence[float], Sequence[int], Floats]:
    if len(tracks) == 1:
        return tracks[0].shares, tracks[0].tokens, held.rows(tracks[0].kept)
    grid = np.linspace(0, 1, max(len(each.shares) for each in tracks))
    scores = np.mean([_between(each, grid) @ held.rows(each.kept) for each in tracks], axis=0)
    tokens = np.mean([_between(each, grid) @ np.array(each.tokens) for each in tracks], axis=0)
    return grid.tolist(), tokens.round().astype(int).tolist(), scores


def _between(track_: Track, grid: Floats) -> Floats:
    """Weights that read a track at the shares of a grid: a straight line between its checkpoints."""
    size = len(track_.shares)
    return np.stack([np.interp(grid, track_.shares, np.eye(size)[place]) for place in range(size)], axis=1)


def comparisons(per_task: Mapping[str, Floats], *, level: float, rng: np.random.Generator) -> tuple[Comparison, ...]:
    """Every method against every later one: paired differences of their areas."""
    pairs = list(combinations(per_task, 2))
    if not pairs:
        return ()
    rows = np.stack([per_task[one] - per_task[other] for one, other in pairs])
    found = intervals(rows, level, rng)
    return tuple(
        Comparison(first=one, second=other, difference=each) for (one, other), each in zip(pairs, found, strict=True)
    )


def pooled_comparisons(skills: Sequence[Mapping[str, Sequence[float]]], *, level: float) -> tuple[Comparison, ...]:
    """The methods that all skills have, compared over all of them; `skills` hold areas task by task."""
    shared = [method for method in skills[0] if all(method in each for each in skills)]
    rng = np.random.default_rng(len(skills))
    return tuple(
        Comparison(
            first=one,
            second=other,
            difference=pooled([np.array(each[one]) - np.array(each[other]) for each in skills], level, rng),
        )
        for one, other in combinations(shared, 2)
    )
