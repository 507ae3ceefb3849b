"""Partial skills: which units are kept, in which order they enter, and what the agent is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skillsv.model.task import TaskWindow

Coalition = frozenset[str]
"""S: the ids of the units that are kept."""

Order = tuple[str, ...]
"""pi: all unit ids, the trigger first; every prefix is dependency-closed and contiguous."""


class Operator(StrEnum):
    """How absent units are handled: rho in the paper."""

    DELETE = "delete"
    PAD = "pad"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """One file the agent will see. `data` None: too large for memory, copied from `origin`."""

    path: str
    data: bytes | None
    digest: str
    executable: bool = False
    origin: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """rho(S): the tree of files that a coalition becomes.

    `digest` names the tree: coalitions that render the same bytes are one. An empty tree is the bare agent:
    it gets no skill at all. `flags` name what an auditor should know (`changed-kind:ID`, `deleted-instead:ID`).
    """

    coalition: Coalition
    operator: Operator
    skill_name: str
    main: str
    files: tuple[RenderedFile, ...]
    digest: str
    tokens: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether this is the bare agent: no skill at all."""
        return not self.files

    @property
    def text(self) -> str:
        """The main Markdown file as text (undecodable bytes replaced), empty for the bare agent."""
        data = next((file.data for file in self.files if file.path == self.main), None)
        return (data or b"").decode("utf-8", errors="replace")

    @property
    def contents(self) -> Mapping[str, bytes]:
        """Relative path to bytes, for the files held in memory."""
        return {file.path: file.data for file in self.files if file.data is not None}


# Chains: an order, a task window, and the scores along its prefixes. All that `estimate` ever reads.

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
