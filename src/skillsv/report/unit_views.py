"""One unit as the page shows it: label, values, colours, needs, and the tasks whose score it changed most."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.format import points, with_bounds
from skillsv.model.skill import CompiledSkill, Edge
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import clip, escape_text
from skillsv.report.figures import Figure, margin_bar, marginal_dots
from skillsv.report.figures.axis import drawable
from skillsv.report.marginals import Marginal, ScoreChange, score_changes
from skillsv.report.sentences import execution_units, reached_label, unit_label, unit_location

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that an element id in an address should not have."""

_DIGEST = re.compile(r"-([0-9a-f]{6,})$")
"""The hash at the end of a unit id."""

_TINTS = 6
"""Shades of blue and of orange that `page.css` defines."""

_CHANGES_SHOWN = 2
"""Tasks that a unit's details name, for its gains and for its losses."""

_EVIDENCE_CHARACTERS = 160
"""Characters of an edge's evidence that a unit's details show."""

Neighbours = dict[str, tuple["Neighbour", ...]]
"""By unit id, the units that it needs, or those that need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another unit that this one needs, or that needs it, by which rule and on what evidence."""

    anchor: str | None
    label: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """Everything that the page shows about one unit."""

    report: UnitReport
    anchor: str
    label: str
    where: str
    tint: str
    bar: Markup
    net: str
    rows: tuple[tuple[str, str], ...]
    dots: Figure | None
    needs: tuple[Neighbour, ...]
    needed_by: tuple[Neighbour, ...]
    losses: tuple[ScoreChange, ...]
    gains: tuple[ScoreChange, ...]


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


def unit_views(
    valuation: Valuation,
    compiled: CompiledSkill,
    marginals: Mapping[str, Sequence[Marginal]],
    anchors: Mapping[str, str],
) -> dict[str, UnitView]:
    """Every unit but the trigger as the page shows it, by id."""
    units = execution_units(valuation)
    ends = [end for unit in units for end in (drawable(unit.value.net).low, drawable(unit.value.net).high)]
    span = min([0.0, *ends]), max([0.0, *ends])
    spread = max((abs(item.value or 0.0) for items in marginals.values() for item in items), default=0.0) or 1.0
    strongest = max((abs(drawable(unit.value.net).value) for unit in units), default=0.0) or 1.0
    labels = {unit.id: unit_label(unit) for unit in units}
    needs, needed_by = _neighbours(compiled, labels, anchors)

    def view(unit: UnitReport) -> UnitView:
        unit_marginals = marginals.get(unit.id, ())
        changes = score_changes(unit_marginals)
        net, action = drawable(unit.value.net), unit.verdict.action
        return UnitView(
            report=unit,
            anchor=anchors[unit.id],
            label=labels[unit.id],
            where=unit_location(unit),
            tint=tint(net, strongest, unresolved=action is Action.UNRESOLVED),
            bar=margin_bar(net, span, action),
            net=points(unit.value.net.value),
            rows=_value_rows(unit),
            dots=marginal_dots(unit_marginals, spread),
            needs=needs.get(unit.id, ()),
            needed_by=needed_by.get(unit.id, ()),
            losses=tuple(change for change in changes[:_CHANGES_SHOWN] if change.after < change.before),
            gains=tuple(change for change in changes[: -_CHANGES_SHOWN - 1 : -1] if change.after > change.before),
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
        ("net effect", value.net),
        ("content value", value.content),
        ("context cost", value.cost),
        ("plain bootstrap", value.plain),
    )
    shown = tuple((name, with_bounds(interval)) for name, interval in rows if interval is not None)
    reached = reached_label(unit)
    return (*shown, ("with what only it leads to", reached)) if reached else shown


def _neighbours(
    compiled: CompiledSkill, labels: Mapping[str, str], anchors: Mapping[str, str]
) -> tuple[Neighbours, Neighbours]:
    """Edges by their source and by their target, without those to the trigger, which every unit has."""
    edges = [edge for edge in compiled.edges if edge.target != compiled.trigger]

    def by_unit(near: Callable[[Edge], str], far: Callable[[Edge], str]) -> Neighbours:
        neighbours: Neighbours = {}
        for edge in edges:
            other = far(edge)
            neighbour = Neighbour(
                anchor=anchors.get(other),
                label=labels.get(other, escape_text(other)),
                rule=edge.rule,
                evidence=clip(escape_text(edge.evidence), _EVIDENCE_CHARACTERS),
            )
            neighbours[near(edge)] = (*neighbours.get(near(edge), ()), neighbour)
        return neighbours

    return by_unit(_source, _target), by_unit(_target, _source)


def _source(edge: Edge) -> str:
    return edge.source


def _target(edge: Edge) -> str:
    return edge.target
