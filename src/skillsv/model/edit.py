"""A shorter skill: the pruning path that leads to it, and its confirmation on the tasks of panel B."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.coalition import Coalition
from skillsv.model.value import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneStep:
    """One step of a pruning path: `unit` is removed together with the units that depend on it (`removed`).

    `kept` is the remaining coalition, `share_removed` the share of the skill's tokens that are removed so far,
    `lost_value` the predicted loss by all removals so far, a share of the score.
    """

    unit: str
    removed: tuple[str, ...]
    kept: Coalition
    tokens_left: int
    share_removed: float
    lost_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPlan:
    """The complete pruning path, from the least valuable unit on. `tokens` is the length of the full skill."""

    path: tuple[PruneStep, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """The score on panel B of one partial skill on a pruning path."""

    share_removed: float
    tokens_left: int
    score: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningCurve:
    """The scores on panel B along the pruning path of one method, and the area under that curve (`auc`)."""

    method: str
    points: tuple[CurvePoint, ...]
    auc: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The old skill compared with the new one, task by task, on panel B. `delta` is new minus old."""

    tasks: int
    old: Interval
    new: Interval
    delta: Interval
    tokens_old: int
    tokens_new: int
    curves: tuple[PruningCurve, ...] = ()
