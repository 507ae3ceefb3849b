"""Values with intervals: what the whole exercise is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from skillsv.model.rollout import Usage
from skillsv.model.show import Tabular, bounded
from skillsv.model.skill import Lines, Span, UnitKind


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
