"""One unit as the page shows it: its values in words, its marks, its neighbours, and where it made a difference."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.skill import CompiledSkill, Edge
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import clip, escape_text
from skillsv.report.figures import Figure, margin_bar, marginal_dots
from skillsv.report.format import drawn, execution, label, points, where, with_bounds
from skillsv.report.marginals import Marginal, Moment, moments

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_DIGEST = re.compile(r"-([0-9a-f]{6,})$")
_TINTS = 6
_MOMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another unit that this one needs, or that needs it, by which rule and on what evidence."""

    anchor: str | None
    label: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitView:
    """All that the page says of one unit."""

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
    losses: tuple[Moment, ...]
    gains: tuple[Moment, ...]


def anchors(valuation: Valuation) -> dict[str, str]:
    """A short name for each unit that is safe in an address and as an element's id, the same for the same skill.

    Unit ids end in a hash of their text, which is enough; a resource is named by its path.
    """
    taken: dict[str, str] = {}
    used: set[str] = set()
    for unit in execution(valuation):
        digest = _DIGEST.search(unit.id)
        base = f"u-{digest[1] if digest else _UNSAFE.sub('-', unit.id).strip('-')[:60]}"
        name, number = base, 2
        while name in used:
            name, number = f"{base}-{number}", number + 1
        used.add(name)
        taken[unit.id] = name
    return taken


def unit_views(
    valuation: Valuation,
    compiled: CompiledSkill,
    marginals: Mapping[str, Sequence[Marginal]],
    names: Mapping[str, str],
) -> dict[str, UnitView]:
    """Every unit but the trigger as the page shows it, by id."""
    units = execution(valuation)
    ends = [end for unit in units for end in (drawn(unit.value.net).low, drawn(unit.value.net).high)]
    span = min([0.0, *ends]), max([0.0, *ends])
    spread = max((abs(item.value or 0.0) for items in marginals.values() for item in items), default=0.0) or 1.0
    strongest = max((abs(drawn(unit.value.net).value) for unit in units), default=0.0) or 1.0
    labels = {unit.id: label(unit) for unit in units}
    needs, needed_by = _neighbours(compiled, labels, names)

    def view(unit: UnitReport) -> UnitView:
        own = marginals.get(unit.id, ())
        changes = moments(own)
        net, action = drawn(unit.value.net), unit.verdict.action
        return UnitView(
            report=unit,
            anchor=names[unit.id],
            label=labels[unit.id],
            where=where(unit),
            tint=tint(net, strongest, unresolved=action is Action.UNRESOLVED),
            bar=margin_bar(net, span, action),
            net=points(unit.value.net.value),
            rows=_value_rows(unit),
            dots=marginal_dots(own, spread),
            needs=needs.get(unit.id, ()),
            needed_by=needed_by.get(unit.id, ()),
            losses=tuple(moment for moment in changes[:_MOMENTS] if moment.after < moment.before),
            gains=tuple(moment for moment in changes[: -_MOMENTS - 1 : -1] if moment.after > moment.before),
        )

    return {unit.id: view(unit) for unit in units}


def tint(net: Interval, strongest: float, *, unresolved: bool) -> str:
    """A style class: stronger for a larger effect, paler the wider the interval; hatched where nothing is resolved."""
    if unresolved:
        return "hatch"
    size, half = abs(net.value), (net.high - net.low) / 2
    strength = math.sqrt(size / strongest) * (size / (size + half) if size else 0.0)
    level = math.ceil(_TINTS * min(1.0, strength))
    return f"{'plus' if net.value > 0 else 'minus'}-{level}" if level else "none"


def _value_rows(unit: UnitReport) -> tuple[tuple[str, str], ...]:
    """The three values of the paper, and the plain interval beside the honest one."""
    value = unit.value
    rows = (
        ("net effect", value.net),
        ("content value", value.content),
        ("context cost", value.cost),
        ("plain bootstrap", value.plain),
    )
    return tuple((name, with_bounds(interval)) for name, interval in rows if interval is not None)


Neighbours = dict[str, tuple[Neighbour, ...]]


def _neighbours(
    compiled: CompiledSkill, labels: Mapping[str, str], names: Mapping[str, str]
) -> tuple[Neighbours, Neighbours]:
    """Edges by their source and by their target. That everything needs the trigger is said once, not here."""
    edges = [edge for edge in compiled.edges if edge.target != compiled.trigger]

    def table(near: Callable[[Edge], str], far: Callable[[Edge], str]) -> Neighbours:
        found: Neighbours = {}
        for edge in edges:
            other = far(edge)
            neighbour = Neighbour(
                anchor=names.get(other),
                label=labels.get(other, escape_text(other)),
                rule=edge.rule,
                evidence=clip(escape_text(edge.evidence), 160),
            )
            found[near(edge)] = (*found.get(near(edge), ()), neighbour)
        return found

    return table(_source, _target), table(_target, _source)


def _source(edge: Edge) -> str:
    return edge.source


def _target(edge: Edge) -> str:
    return edge.target
