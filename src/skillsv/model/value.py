"""Values with intervals: what the whole exercise is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any

from skillsv.model.rollout import Usage
from skillsv.model.skill import Lines, Span, UnitKind

# Results in a notebook: as a dictionary, as a data frame, as a table.

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


_CAPTION = "<caption>Amounts of score in points of a hundred.</caption>"


class Tabular:
    """A result with one row per unit. Whoever inherits says what a row holds.

    Every float of a row is an amount of score. Dictionaries and data frames keep it as a share, tables show points.
    """

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per unit."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything in the result as JSON's plain values, field by field."""
        import msgspec

        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))
        return plain

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with a row per unit (pandas must be installed)."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        if not rows:
            return "<p>No units.</p>"
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in rows)
        return f"<table>{_CAPTION}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{100 * value:+.1f}"
    return "" if value is None else escape(str(value))


def bounded(name: str, interval: Any) -> Mapping[str, float | None]:
    """An interval as three columns; empty ones where it was not estimated."""
    ends = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the bounds of its confidence interval."""

    value: float
    low: float
    high: float

    def covers(self, value: float) -> bool:
        """Whether the interval contains the value."""
        return self.low <= value <= self.high


class Evidence(StrEnum):
    """What the interval of a unit's net effect shows. The kinds are never mixed."""

    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEGLIGIBLE = "negligible"  # the whole interval lies within the reporting resolution
    UNRESOLVED = "unresolved"  # covers zero and reaches beyond the resolution: no verdict
    IDENTICAL = "identical"  # zero by construction: with or without it, the same bytes


class Action(StrEnum):
    """What to do with a unit."""

    KEEP = "keep"
    COMPRESS = "compress"
    DELETE = "delete"
    HARMFUL = "harmful"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The action for one unit and the reason in one sentence."""

    unit: str
    action: Action
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitValue:
    """phi of one unit. `content` and `cost` are None where only deletion was run; content = net + cost exactly.

    `plain` is the paper's percentile bootstrap of the net effect, shown beside the honest interval.
    """

    id: str
    net: Interval
    content: Interval | None = None
    cost: Interval | None = None
    plain: Interval | None = None
    samples: int = 0
    standard_error: float = 0.0
    evidence: Evidence = Evidence.UNRESOLVED


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """V(empty), V({m}) and V(N) on the attribution panel's windows."""

    empty: Interval
    trigger: Interval
    full: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Do the values add up? `sum` of phi against the content lift Lambda; `covered`: the sum's interval holds it."""

    sum: Interval
    lift: Interval
    ratio: float | None
    covered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionValue:
    """The sum of the net effects below a heading. A sum, not a new estimate."""

    path: tuple[str, ...]
    net: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate(Tabular):
    """What the records say, before names, tokens and verdicts are put beside it: the result of every method.

    `truncation_share` is gamma: the share of intermediate prefixes that were evaluated; 1 means nothing was truncated.
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

    def rows(self) -> list[dict[str, Any]]:
        """One row per execution unit: its values with their bounds, and what they show."""
        return [_row(unit) for unit in self.units]


def _row(unit: UnitValue) -> dict[str, Any]:
    return {
        "unit": unit.id,
        **bounded("net", unit.net),
        **bounded("content", unit.content),
        **bounded("cost", unit.cost),
        "standard_error": unit.standard_error,
        "samples": unit.samples,
        "evidence": str(unit.evidence),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One number per execution unit, whatever the method: what SkillSV and the baselines are compared by.

    A method that gives no precision (a judge, chance) has intervals of no width, and `notes` say so.
    """

    method: str
    values: Mapping[str, Interval]
    notes: tuple[str, ...] = ()

    def ascending(self) -> tuple[str, ...]:
        """Unit ids from the least to the most valuable; ties in the order of `values`."""
        return tuple(sorted(self.values, key=lambda unit: self.values[unit].value))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReport:
    """One row of the answer: where the unit is, what it costs to read, what it is worth, what to do.

    `form` is the unit's Markdown shape as the compiler saw it (bullet, ordered, table, ...).
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was run. `forecast` is what was announced beforehand.

    `cut` counts answers that the token limit cut; they are among the scored or the failed, as the settings say.
    """

    spent: int
    reused: int
    failed: int
    forecast: int | None = None
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Valuation(Tabular):
    """The whole answer for one skill, agent and panel: everything a report needs, and `skillsv.valuation/1`."""

    skill: Mapping[str, Any]
    settings: Mapping[str, Any]
    estimate: Estimate
    units: tuple[UnitReport, ...]
    rollouts: Spending
    usage: Usage
    provisional: bool = False
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """One row per unit: where it is, what it costs to read, what it is worth, what to do."""
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
