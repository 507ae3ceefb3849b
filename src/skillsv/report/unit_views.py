"""One unit as the page shows it: its row, and the details that say why it has its verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from skillsv.model.format import points, with_bounds
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import clip, escape_text
from skillsv.report.evidence import DecidingTask, Evidence
from skillsv.report.figures import Figure, margin_bar, marginal_dots
from skillsv.report.figures.axis import drawable
from skillsv.report.line_names import LineNames
from skillsv.report.marginals import Marginal
from skillsv.report.reasons import ReasonContext, effect_sentence, row_reason
from skillsv.report.sentences import execution_units, reached_label, unit_label, unit_location

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that an element id in an address should not have."""

_DIGEST = re.compile(r"-([0-9a-f]{6,})$")
"""The hash at the end of a unit id."""

_TINTS = 6
"""Shades of blue and of orange that `page.css` defines."""

_EVIDENCE_CHARACTERS = 160
"""Characters of an edge's evidence that a unit's details show."""

_MOST_NEIGHBOURS = 12
"""Units that a list of neighbours names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another unit that this one needs, or that needs it, in words, with its value and the evidence."""

    anchor: str | None
    words: str
    net: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """Everything that the page shows about one unit."""

    report: UnitReport
    anchor: str
    line: str
    label: str
    where: str
    tint: str
    bar: Markup
    net: str
    row_reason: str
    reason: str
    effect: str
    rows: tuple[tuple[str, str], ...]
    dots: Figure | None
    needs: tuple[Neighbour, ...]
    needed_by: tuple[Neighbour, ...]
    more_needed_by: int
    examples: tuple[DecidingTask, ...]

    @property
    def file(self) -> str:
        """The file that contains the unit."""
        return self.report.file


def anchors_by_unit(valuation: Valuation) -> dict[str, str]:
    """For each unit the id of its element on the page, safe in an address; the same for the same skill.

    The hash at the end of a unit id is enough; a resource has no hash and is named by its path.
    """
    anchors: dict[str, str] = {}
    used: set[str] = set()
    for unit in execution_units(valuation):
        digest = _DIGEST.search(unit.id)
        base = f"u-{digest[1] if digest else _UNSAFE.sub('-', unit.id).strip('-')[:60]}"
        name, number = base, 2
        while name in used:
            name, number = f"{base}-{number}", number + 1
        used.add(name)
        anchors[unit.id] = name
    return anchors


def value_span(valuation: Valuation) -> tuple[float, float]:
    """The ends of the scale that all bars beside the text share."""
    nets = [drawable(unit.value.on_panel) for unit in execution_units(valuation)]
    ends = [end for net in nets for end in (net.low, net.high)]
    return min([0.0, *ends]), max([0.0, *ends])


def unit_views(
    valuation: Valuation,
    compiled: CompiledSkill,
    marginals: Mapping[str, Sequence[Marginal]],
    anchors: Mapping[str, str],
    *,
    names: LineNames,
    evidence: Evidence,
) -> dict[str, UnitView]:
    """Every unit but the trigger as the page shows it, by id."""
    units = execution_units(valuation)
    span = value_span(valuation)
    spread = max((abs(item.value or 0.0) for items in marginals.values() for item in items), default=0.0) or 1.0
    strongest = max((abs(drawable(unit.value.on_panel).value) for unit in units), default=0.0) or 1.0
    nets = {unit.id: points(unit.value.on_panel.value) for unit in units}
    context = ReasonContext(compiled=compiled, evidence=evidence, names=names)
    needs, needed_by = _neighbours(compiled, names, anchors, nets)

    def view(unit: UnitReport) -> UnitView:
        net, action = drawable(unit.value.on_panel), unit.verdict.action
        found, dependants = evidence.of(unit.id), needed_by.get(unit.id, ())
        return UnitView(
            report=unit,
            anchor=anchors[unit.id],
            line=names.line(unit.id),
            label=unit_label(unit),
            where=unit_location(unit),
            tint=tint(net, strongest, unresolved=action is Action.UNRESOLVED),
            bar=margin_bar(net, span, action),
            net=nets[unit.id],
            row_reason=row_reason(unit, context),
            reason=escape_text(names.explain(unit.verdict.reason)),
            effect=effect_sentence(found, evidence),
            rows=_value_rows(unit),
            dots=marginal_dots(marginals.get(unit.id, ()), spread),
            needs=needs.get(unit.id, ()),
            needed_by=dependants[:_MOST_NEIGHBOURS],
            more_needed_by=max(0, len(dependants) - _MOST_NEIGHBOURS),
            examples=tuple(map(_escaped, found.examples)),
        )

    return {unit.id: view(unit) for unit in units}


def tint(net: Interval, strongest: float, *, unresolved: bool) -> str:
    """The CSS class of a unit's background: darker for a larger effect, paler for a wider interval, or hatched."""
    if unresolved:
        return "hatch"
    size, half = abs(net.value), (net.high - net.low) / 2
    strength = math.sqrt(size / strongest) * (size / (size + half) if size else 0.0)
    level = math.ceil(_TINTS * min(1.0, strength))
    return f"{'plus' if net.value > 0 else 'minus'}-{level}" if level else "none"


def _value_rows(unit: UnitReport) -> tuple[tuple[str, str], ...]:
    """The three values of the paper, the plain bootstrap interval, and the value with the files that it leads to."""
    value = unit.value
    rows = (
        ("net effect on these tasks", value.on_panel),
        ("net effect on tasks like these", value.net),
        ("content value", value.content),
        ("context cost", value.cost),
        ("plain bootstrap", value.plain),
    )
    shown = tuple((name, with_bounds(interval)) for name, interval in rows if interval is not None)
    reached = reached_label(unit)
    return (*shown, ("with what only it leads to", reached)) if reached else shown


def _escaped(example: DecidingTask) -> DecidingTask:
    def text(value: str | None) -> str | None:
        return None if value is None else escape_text(value)

    return replace(
        example,
        task=escape_text(example.task),
        stratum=escape_text(example.stratum),
        input=text(example.input),
        expected=text(example.expected),
        answer_with=text(example.answer_with),
        answer_without=text(example.answer_without),
    )


def _neighbours(
    compiled: CompiledSkill, names: LineNames, anchors: Mapping[str, str], nets: Mapping[str, str]
) -> tuple[dict[str, tuple[Neighbour, ...]], dict[str, tuple[Neighbour, ...]]]:
    """What each unit needs and what needs it, without the trigger, which every unit needs; each neighbour once."""
    needs: dict[str, dict[str, Neighbour]] = {}
    needed_by: dict[str, dict[str, Neighbour]] = {}
    for edge in compiled.edges:
        if edge.target == compiled.trigger:
            continue
        for table, near, far in ((needs, edge.source, edge.target), (needed_by, edge.target, edge.source)):
            neighbour = Neighbour(
                anchor=anchors.get(far),
                words=names.words(far),
                net=nets.get(far, ""),
                evidence=clip(escape_text(edge.evidence), _EVIDENCE_CHARACTERS),
            )
            table.setdefault(near, {}).setdefault(far, neighbour)
    return (
        {unit: tuple(others.values()) for unit, others in needs.items()},
        {unit: tuple(others.values()) for unit, others in needed_by.items()},
    )
