"""Chains: an order, a task window, and the scores along its prefixes. All that `estimate` ever reads."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.coalition import Coalition, Operator, Order
from skillsv.model.task import TaskWindow

Scores = tuple[float | None, ...]
"""One score per task of the window, in window order; None is missing, never zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """What one chain will do: fixed before anything is spent. `tolerance` None: never truncate."""

    index: int
    order: Order
    window: TaskWindow
    operators: tuple[Operator, ...]
    tolerance: float | None
    replicate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """`unit` was added to the prefix before it; `scores` are those of the prefix that includes it."""

    operator: Operator
    position: int
    unit: str
    scores: Scores
    tree: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRecord:
    """A finished chain: anchors on its window, then one step per evaluated prefix.

    `empty` is the bare agent, `trigger` {m} per operator (in the plan's order of operators), `full` the whole skill,
    shared by all operators. `truncated_at` is the position after which every unit of the chain got zero, None if the
    chain ran to its end. The last prefix is the full skill: its step reuses the anchor.
    """

    plan: ChainPlan
    empty: Scores
    trigger: tuple[Scores, ...]
    full: Scores
    steps: tuple[ChainStep, ...]
    truncated_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One scored (coalition, task) of an adaptive run, with the reason it was run."""

    coalition: Coalition
    operator: Operator
    task: str
    replicate: int
    score: float | None
    why: str
