"""The results: intervals, values of units, verdicts, the estimate of one method, and the complete valuation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING

from skillsv.model.format import points
from skillsv.model.rollout import Usage
from skillsv.model.skill import Lines, Span, UnitKind

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

    from skillsv.model.valuation_document import SkillSummary

_CAPTION = "<caption>Amounts of score in points of a hundred.</caption>"
"""The caption of a notebook table: it shows points, while the stored values are shares of 1."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the bounds of its confidence interval."""

    value: float
    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Whether the interval contains the value."""
        return self.low <= value <= self.high


UNKNOWN = Interval(math.nan, -1.0, 1.0)
"""An effect of which nothing is known but its range."""


class Evidence(StrEnum):
    """What the interval of a unit's net effect shows."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEGLIGIBLE = "negligible"  # the interval lies within plus or minus the reporting resolution
    IDLE = "idle"  # negligible, and no score changed on any task of an agent that repeats itself
    EXPENDABLE = "expendable"  # worth less than the reporting resolution, one-sided, few of these are wrong
    UNRESOLVED = "unresolved"  # the interval covers zero and extends beyond the resolution: no verdict
    IDENTICAL = "identical"  # zero by construction: the rendering is the same with and without the unit


class Action(StrEnum):
    """What to do with a unit."""

    KEEP = "keep"
    COMPRESS = "compress"
    DELETE = "delete"
    EXPENDABLE = "expendable"  # worth less than the resolution; a confirmation proves the deletion
    IDLE = "idle"  # changed no score on any task; on other tasks it may
    HARMFUL = "harmful"
    UNRESOLVED = "unresolved"


DELETABLE = frozenset({Action.DELETE, Action.EXPENDABLE, Action.IDLE})
"""Actions on a unit that is worth nothing, or so little that nobody acts on it."""

REMOVABLE = DELETABLE | {Action.HARMFUL}
"""Actions that remove a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The recommended action for one unit, and the reason in one sentence."""

    unit: str
    action: Action
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitValue:
    """phi in the paper: the value of one unit.

    `net` is the net effect (operator `delete`), `content` the content value (operator `pad`), `cost` the context cost;
    content = net + cost holds exactly. `content` and `cost` are None if only the operator `delete` was run. `plain` is
    the paper's percentile bootstrap interval of the net effect, which covers the value less often than `net` does.

    The value of `net` and `net_panel` is the same. The interval of `net` is about tasks like these: it allows for which
    tasks were drawn. That of `net_panel` is about the tasks of the panel; None means the same interval as `net`.

    A unit that no rollout has separated from other units, or that no chain has tested, has no value yet: `net.value` is
    NaN, and the bounds are the range that the value must lie in whatever the scores are. Its evidence is `UNRESOLVED`,
    and it has no `plain`. `tasks` is the number of tasks behind the value, 0 if unknown.
    """

    id: str
    net: Interval
    content: Interval | None = None
    cost: Interval | None = None
    plain: Interval | None = None
    samples: int = 0
    standard_error: float = 0.0
    evidence: Evidence = Evidence.UNRESOLVED
    net_panel: Interval | None = None
    tasks: int = 0

    @property
    def on_panel(self) -> Interval:
        """The net effect on the tasks of the panel: verdicts are about these."""
        return self.net if self.net_panel is None else self.net_panel

    @property
    def has_value(self) -> bool:
        """Whether some rollout has separated the unit from the others, or some chain has tested it."""
        return not math.isnan(self.net.value)

    @property
    def net_or_zero(self) -> Interval:
        """`net` for rankings and sums: the value is 0 where there is none yet."""
        return self.net if self.has_value else Interval(0.0, self.net.low, self.net.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """V(empty), V({m}) and V(N) in the paper: the scores of the bare agent, the trigger alone, and the full skill."""

    empty: Interval
    trigger: Interval
    full: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The check that the values add up: `sum` of all phi compared with `lift`, the content lift Lambda.

    `gap` is the sum minus the lift, with a paired bootstrap interval over tasks. It is None where the lift was measured
    only on the tasks that the values come from: the two then agree whatever the estimator does. `covered`: the
    interval of the gap contains zero, and the sum is what the scores give; without a gap, the interval of the sum
    contains the lift.
    """

    sum: Interval
    lift: Interval
    ratio: float | None
    covered: bool
    gap: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionValue:
    """The sum of the net effects of the units below a heading. It is a sum, not an estimate of its own."""

    path: tuple[str, ...]
    net: Interval


class UnitTable:
    """Base class of results with one row per unit: as a dictionary, a pandas data frame, or a table in a notebook.

    A subclass defines `rows`. Every float of a row is an amount of score. Dictionaries and data frames hold shares of
    1; the table in a notebook shows points of a hundred.
    """

    __slots__ = ()

    def rows(self) -> list[dict[str, object]]:
        """One flat row per unit."""
        raise NotImplementedError

    def to_dict(self) -> Mapping[str, object]:
        """All fields of the result as plain JSON values."""
        import msgspec

        plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))
        return plain

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with one row per unit. It needs the package pandas."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        if not rows:
            return "<p>No units.</p>"
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in rows)
        return f"<table>{_CAPTION}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(UnitTable):
    """The result of one estimation method: anchors, values of units, and the check that they add up.

    `truncation_share` is gamma in the paper: the share of intermediate prefixes that were evaluated; 1 means that no
    chain was truncated. `resolution` is the smallest net effect of interest, `missing` the number of missing scores.
    """

    method: str
    anchors: Anchors
    trigger_value: Interval
    content_lift: Interval
    closure: Closure
    units: tuple[UnitValue, ...]
    sections: tuple[SectionValue, ...]
    chains: int
    truncation_share: float | None
    resolution: float
    missing: int = 0
    notes: tuple[str, ...] = ()

    def unit(self, unit_id: str) -> UnitValue:
        """The value of one unit."""
        return next(unit for unit in self.units if unit.id == unit_id)

    def rows(self) -> list[dict[str, object]]:
        """One row per execution unit: its values with their intervals, and the evidence."""
        return [_row(unit) for unit in self.units]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One number per execution unit, from any method: the common form in which SkillSV and baselines are compared.

    A method without a measure of precision (a judge, a random ranking) gives intervals of width zero; `notes` say so.
    """

    method: str
    values: Mapping[str, Interval]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedFiles:
    """What only one unit leads a reader to: paths of files, their units, and the net effect of the unit with them.

    `net` is a sum of net effects; NaN where the unit has no value yet.
    """

    files: tuple[str, ...]
    units: tuple[str, ...]
    net: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReport:
    """One row of a valuation: the location, length, dependencies, value and verdict of one unit.

    `form` is the unit's Markdown form (bullet, ordered, table, ...). `reaches` is what only this unit leads to.
    """

    id: str
    kind: UnitKind
    file: str
    span: Span
    lines: Lines
    section: tuple[str, ...]
    tokens: int
    needs: tuple[str, ...]
    text: str
    value: UnitValue
    verdict: Verdict
    form: str = ""
    reaches: ReachedFiles | None = None

    @property
    def net(self) -> Interval:
        """The net effect of the unit: what its text changes, context cost included."""
        return self.value.net

    @property
    def content(self) -> Interval | None:
        """The content value; None where only the operator `delete` was run."""
        return self.value.content

    @property
    def cost(self) -> Interval | None:
        """The context cost; None where only the operator `delete` was run."""
        return self.value.cost

    @property
    def action(self) -> Action:
        """What to do with the unit."""
        return self.verdict.action


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Numbers of rollouts: run (`spent`), taken from the ledger (`reused`), failed, and expected (`forecast`).

    `cut` counts answers that the token limit ended; a setting decides whether they count as scored or as failed.
    """

    spent: int
    reused: int
    failed: int
    forecast: int | None = None
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCost:
    """R and R_full in the paper: the rollouts of the chains that ran, by its formula, and without any saving.

    `gamma` is the share of intermediate prefixes that were evaluated before truncation. `full_rollouts` are the
    rollouts of the same orders on the whole panel without truncation; None where the run did not record its panel.
    Anchors on the tasks outside of the windows are in neither number.
    """

    gamma: float
    rollouts: int
    full_rollouts: int | None = None

    @property
    def ratio(self) -> float | None:
        """R / R_full, about gamma b / M."""
        return None if self.full_rollouts is None else self.rollouts / self.full_rollouts


@dataclass(frozen=True, slots=True, kw_only=True)
class Valuation(UnitTable):
    """The complete result for one skill, agent and panel: data of a report and of the JSON `skillsv.valuation/1`.

    `provisional`: the run is not finished. `next_budget` is the number of rollouts to try next, where units have no
    value yet. `chain_cost` is None for the adaptive method, and where a chain has no intermediate prefix.
    `full_digests` are the digests of the full skill as each operator renders it: they must be equal.
    """

    skill: SkillSummary
    settings: Mapping[str, object]
    estimate: Estimate
    units: tuple[UnitReport, ...]
    rollouts: Spending
    usage: Usage
    provisional: bool = False
    next_budget: int | None = None
    chain_cost: ChainCost | None = None
    full_digests: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, object]]:
        """One row per unit: its values, location, length and verdict."""
        return [
            {
                **_row(unit.value),
                "file": unit.file,
                "line": unit.lines.first,
                "section": " > ".join(unit.section),
                "tokens": unit.tokens,
                "verdict": str(unit.verdict.action),
                "reason": unit.verdict.reason,
            }
            for unit in self.units
        ]


def _row(unit: UnitValue) -> dict[str, object]:
    """The columns that every result shows for a unit."""
    return {
        "unit": unit.id,
        **_interval_columns("net", unit.net),
        **_interval_columns("content", unit.content),
        **_interval_columns("cost", unit.cost),
        "standard_error": unit.standard_error,
        "samples": unit.samples,
        "evidence": str(unit.evidence),
    }


def _interval_columns(name: str, interval: Interval | None) -> Mapping[str, float | None]:
    """An interval as three columns, with None where there is no interval."""
    ends = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


def _cell(value: object) -> str:
    """A value as HTML; floats are amounts of score and become points of a hundred."""
    if isinstance(value, float):
        return points(value)
    return "" if value is None else escape(str(value))
