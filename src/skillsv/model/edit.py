"""From values to a shorter skill, and the proof on tasks it never saw."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.coalition import Coalition
from skillsv.model.value import Interval, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneStep:
    """One removal: the unit chosen, all that had to go with it, and what is left."""

    unit: str
    removed: tuple[str, ...]
    kept: Coalition
    tokens_left: int
    share_removed: float
    lost_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """Verdicts, and the whole pruning path in ascending value."""

    verdicts: tuple[Verdict, ...]
    path: tuple[PruneStep, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A checkpoint of a pruning curve on panel B."""

    share_removed: float
    tokens_left: int
    score: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningCurve:
    """Held-out score along a pruning path, and the area under it."""

    method: str
    points: tuple[CurvePoint, ...]
    auc: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Old against new on panel B, task by task."""

    tasks: int
    old: Interval
    new: Interval
    delta: Interval
    tokens_old: int
    tokens_new: int
    curves: tuple[PruningCurve, ...] = ()
