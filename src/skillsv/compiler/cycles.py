"""Pass 3, normalization: every dependency cycle becomes one composite unit, so that D is a DAG.

References in prose that lead in a circle ("see also") are no such cycle: `drop_circular_prose` removes them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import rustworkx

from skillsv.compiler.draft import TRIGGER, Draft, DraftUnit
from skillsv.compiler.names import Names
from skillsv.model.skill import Contraction, Edge, Extent, Layout, Unit, UnitKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedSkill:
    """Units and edges after contraction. `section_of` gives the section that contains each unit."""

    units: tuple[Unit, ...]
    edges: tuple[Edge, ...]
    section_of: Mapping[str, int]
    contractions: tuple[Contraction, ...]
    layouts: tuple[Layout, ...]
    pointers: Mapping[str, tuple[str, ...]]


def drop_circular_prose(draft: Draft, edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """The edges without those of prose that lead in a circle: first those that point back, then the others.

    What is left of a cycle then is code that needs itself, and the layout of the text.
    """
    kept = tuple(edges)
    position = {unit.id: unit.position for unit in draft.units}
    for back_only in (True, False):
        cycle_of = {unit.id: number for number, cycle in enumerate(_cycles(draft, kept)) for unit in cycle}
        if not cycle_of:
            break
        kept = tuple(
            edge
            for edge in kept
            if not edge.prose
            or cycle_of.get(edge.source, -1) != cycle_of.get(edge.target, -2)
            or (back_only and position[edge.target] > position[edge.source])
        )
    return kept


def normalize(draft: Draft, edges: Sequence[Edge]) -> NormalizedSkill:
    """Contract the strongly connected components, and record their members: contraction loses resolution."""
    cycles = _cycles(draft, edges)
    titles = _all_titles(draft)
    if not cycles:
        return NormalizedSkill(
            units=tuple(_unit(draft, titles, (unit,)) for unit in draft.units),
            edges=tuple(edges),
            section_of={unit.id: unit.section for unit in draft.units},
            contractions=(),
            layouts=draft.layouts,
            pointers=_pointer_ids(draft, {}),
        )
    names = Names(*(unit.id for unit in draft.units))
    composite_id = {members: names.composite(tuple(member.id for member in members)) for members in cycles}
    new_id = {member.id: name for members, name in composite_id.items() for member in members}
    cycle_from = {members[0].id: members for members in cycles}
    groups = [
        cycle_from.get(unit.id, (unit,)) for unit in draft.units if unit.id not in new_id or unit.id in cycle_from
    ]
    return NormalizedSkill(
        units=tuple(_unit(draft, titles, members, composite_id.get(members)) for members in groups),
        edges=_redirect_edges(edges, new_id),
        section_of={composite_id.get(members, members[0].id): _common_section(draft, members) for members in groups},
        contractions=tuple(_contraction(name, members, edges) for members, name in composite_id.items()),
        layouts=tuple(_rename_units(layout, new_id) for layout in draft.layouts),
        pointers=_pointer_ids(draft, new_id),
    )


def _pointer_ids(draft: Draft, new_id: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {
        path: tuple(dict.fromkeys(new_id.get(unit.id, unit.id) for unit in units))
        for path, units in draft.pointers.items()
    }


def _cycles(draft: Draft, edges: Sequence[Edge]) -> list[tuple[DraftUnit, ...]]:
    """Groups of units that need each other, in document order. The trigger m needs nothing, so it is in none."""
    position = {unit.id: unit.position for unit in draft.units}
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(draft.units)))
    graph.add_edges_from_no_data(
        [(position[edge.source], position[edge.target]) for edge in edges if edge.target != TRIGGER]
    )
    components = [sorted(part) for part in rustworkx.strongly_connected_components(graph) if len(part) > 1]
    return [tuple(draft.units[index] for index in part) for part in sorted(components)]


def _unit(
    draft: Draft, titles: Sequence[tuple[str, ...]], members: tuple[DraftUnit, ...], name: str | None = None
) -> Unit:
    """A unit of its own, or the composite `name` of a cycle."""
    first = members[0]
    extents = tuple(Extent(file=unit.file, span=unit.span, lines=unit.lines) for unit in members)
    if name is None:
        return Unit(
            id=first.id,
            kind=first.kind,
            form=first.form,
            extents=extents,
            section=titles[first.section],
            flags=first.flags,
        )
    return Unit(
        id=name,
        kind=UnitKind.COMPOSITE,
        form="cycle",
        extents=extents,
        section=titles[_common_section(draft, members)],
        members=tuple(unit.id for unit in members),
        flags=tuple(sorted({flag for unit in members for flag in unit.flags})),
    )


def _all_titles(draft: Draft) -> list[tuple[str, ...]]:
    """For each section, the titles of the headings from the top down to it; first the file, if it is not the main one.

    A file that is one unit has no such title.
    """
    titles: list[tuple[str, ...]] = []
    for section in draft.sections:
        above = () if section.parent is None else titles[section.parent]
        if section.kind == "heading":
            above = (*above, section.title)
        elif section.kind == "file" and section.file is not None and section.file in draft.pointers:
            above = (section.file,)
        titles.append(above)
    return titles


def _common_section(draft: Draft, members: tuple[DraftUnit, ...]) -> int:
    """The lowest section that contains all members."""
    if len(members) == 1:
        return members[0].section
    return max(frozenset.intersection(*(draft.ancestors(unit.section) for unit in members)))


def _redirect_edges(edges: Sequence[Edge], new_id: Mapping[str, str]) -> tuple[Edge, ...]:
    """Point edges at composites; edges inside a cycle disappear, and so do repetitions."""
    redirected: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        source, target = new_id.get(edge.source, edge.source), new_id.get(edge.target, edge.target)
        if source != target:
            same = source == edge.source and target == edge.target
            new_edge = edge if same else replace(edge, source=source, target=target)
            redirected.setdefault((edge.rule, source, target), new_edge)
    return tuple(redirected.values())


def _contraction(name: str, members: tuple[DraftUnit, ...], edges: Sequence[Edge]) -> Contraction:
    ids = {unit.id for unit in members}
    inner = tuple(edge for edge in edges if edge.source in ids and edge.target in ids)
    return Contraction(
        unit=name,
        members=tuple(unit.id for unit in members),
        rules=tuple(sorted({edge.rule for edge in inner})),
        edges=inner,
    )


def _rename_units(layout: Layout, new_id: Mapping[str, str]) -> Layout:
    pieces = tuple(
        replace(piece, unit=new_id[piece.unit]) if piece.unit and piece.unit in new_id else piece
        for piece in layout.pieces
    )
    return replace(layout, pieces=pieces)
