"""A shorter skill: the pruning path that leads to it, and its confirmation on the tasks of panel B."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


class ProofOutcome(StrEnum):
    """What the scores on panel B show about a new skill."""

    NO_WORSE = "no worse"
    NOT_SHOWN = "not shown"
    WORSE = "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The old skill compared with the new one, task by task, on panel B. `delta` is new minus old.

    `at_worst` is the lowest change that is not ruled out, `max_drop` the loss that must be ruled out. Proofs of earlier
    versions have neither: then nothing is shown.
    """

    tasks: int
    old: Interval
    new: Interval
    delta: Interval
    tokens_old: int
    tokens_new: int
    curves: tuple[PruningCurve, ...] = ()
    at_worst: float | None = None
    max_drop: float | None = None

    @property
    def outcome(self) -> ProofOutcome:
        """What is shown: the new skill is no worse than the allowed loss, it is worse, or neither."""
        if self.at_worst is not None and self.max_drop is not None and self.at_worst >= -self.max_drop:
            return ProofOutcome.NO_WORSE
        return ProofOutcome.WORSE if self.delta.high < 0 else ProofOutcome.NOT_SHOWN
