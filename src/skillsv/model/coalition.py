"""Coalitions, their renderings, the orders in which units are added, and the scores measured along them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skillsv.model.task import TaskWindow

Coalition = frozenset[str]
"""S in the paper: the ids of the units that a partial skill contains."""

Order = tuple[str, ...]
"""pi in the paper: all unit ids, the trigger first. Every prefix is closed under dependencies and contiguous."""

Scores = tuple[float | None, ...]
"""One score per task of a window, in the order of the window. None means missing, which is never zero."""


class Operator(StrEnum):
    """rho in the paper: how a rendering treats units that are not in the coalition."""

    DELETE = "delete"  # their bytes are left out
    PAD = "pad"  # filler text of the same number of tokens takes their place


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """One file that the agent receives. `data` is None for a file too large for memory: it is copied from `origin`."""

    path: str
    data: bytes | None
    digest: str
    executable: bool = False
    origin: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """rho(S) in the paper: the files that the agent receives for a coalition S.

    `digest` identifies the files: two coalitions with the same digest are measured once. A rendering without files
    stands for the bare agent, which receives no skill. `flags` list side effects of rendering that a reader should know
    (`changed-kind:ID`, `deleted-instead:ID`).
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
        """Whether there are no files: the bare agent, without a skill."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
    """The plan of one chain, fixed before its first rollout: an order, a window of tasks, and the operators.

    `tolerance` None: the chain is never truncated.
    """

    index: int
    order: Order
    window: TaskWindow
    operators: tuple[Operator, ...]
    tolerance: float | None
    replicate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStep:
    """One evaluated prefix of a chain: `scores` belong to the prefix that ends with `unit`.

    `tree` is the digest of the rendering that was scored.
    """

    operator: Operator
    position: int
    unit: str
    scores: Scores
    tree: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRecord:
    """A finished chain: the scores of its anchors, then one step per evaluated prefix.

    Anchors on the chain's window: `empty` is the bare agent, `trigger` the coalition {m} for each operator (in the
    order of `plan.operators`), `full` the full skill (the same for all operators). `truncated_at` is the position after
    which every unit received the value zero, None if the chain ran to its end. The last prefix is the full skill, so
    its step repeats the scores of the anchor.
    """

    plan: ChainPlan
    empty: Scores
    trigger: tuple[Scores, ...]
    full: Scores
    steps: tuple[ChainStep, ...]
    truncated_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelAnchors:
    """The anchors of a chain run on every task of panel A, under deletion: bare agent, {m} and full skill."""

    tasks: tuple[str, ...]
    empty: Scores
    trigger: Scores
    full: Scores


class AdaptiveReason(StrEnum):
    """Why the adaptive policy asks for a rollout. Records store the value as `why`."""

    ANCHOR_EMPTY = "anchor:empty"
    ANCHOR_TRIGGER = "anchor:trigger"
    ANCHOR_FULL = "anchor:full"
    ANCHOR_NULL_CHANGE = "anchor:null-change"  # the full skill under a change that means nothing
    PATTERN = "pattern"  # a set of deciding units that was never scored
    VERIFY = "verify"  # a predicted score is compared with a measured one
    SAMPLE = "sample"  # the same at a prefix drawn from mu: how often forecasts fail where values come from
    BISECT = "bisect"  # search for the unit that changed the score
    CHECK = "check"  # a score next to a change that was just located
    REPEAT = "repeat"  # a score is measured again: an unexpected one, or one drawn at random
    KNOWN = "known"  # an earlier run of this skill has scored it: it costs nothing
    PRIOR = "prior"  # with another agent or text the score changed here: whether it does with this one
    CLOSED_SET = "closed-set"  # a random dependency-closed coalition: only for a noisy agent
    NOISY_TASK = "noisy-task"  # the same on a single noisy task of an agent that is steady on the others


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCoalition:
    """A coalition that was scored on a task before this run, under every operator of the run; empty: the bare agent.

    `why` is the reason that records store when this run asks for it.
    """

    task: str
    coalition: Coalition
    why: AdaptiveReason = AdaptiveReason.KNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAnswers:
    """What a run takes over from an earlier version of its skill.

    `coalitions` read the same: the run asks for them first, and they cost nothing. `changes` hold edited units, at
    places where the scores of the earlier version changed: the run asks for them next. `steady`: the agent gave the
    same answers again in the earlier run, so the run asks for no null changes of the full skill.
    """

    coalitions: tuple[KnownCoalition, ...] = ()
    changes: tuple[KnownCoalition, ...] = ()
    steady: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierScore:
    """The score that another agent had for a coalition on a task, under deletion."""

    task: str
    coalition: Coalition
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPrior:
    """What other agents showed of the same skill on the same tasks. A run believes it as far as its own scores agree.

    `scores` are all scores of each steady agent: a run of a steady agent is asked first where they changed, and learns
    how far its values follow theirs on the tasks on which it contradicts them. `values` are the values of the units,
    one mapping for each agent: the model of a noisy agent learns from its own scores how far the values follow them.
    `coalitions` is what runs of earlier versions have instead of `scores`: the coalitions at which scores changed.
    """

    coalitions: tuple[KnownCoalition, ...] = ()
    values: tuple[Mapping[str, float], ...] = ()
    scores: tuple[tuple[EarlierScore, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The score of one coalition on one task in an adaptive run; `why` is the value of an `AdaptiveReason`.

    `null_change` is the number of the null change under which it was rendered, 0 without one.
    """

    coalition: Coalition
    operator: Operator
    task: str
    replicate: int
    score: float | None
    why: str
    null_change: int = 0

    @property
    def agent_is_noisy(self) -> bool:
        """Whether the policy had found the agent noisy when it asked for this rollout."""
        return self.why == AdaptiveReason.CLOSED_SET
