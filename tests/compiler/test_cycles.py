"""Contraction: a cycle becomes one composite unit that records its members."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.skill import UnitKind

CYCLE = "## A\n\nSee [b](#b).\n\nplain\n\n## B\n\nSee [a](#a).\n\n## C\n\nSee [a](#a).\n"


@pytest.fixture(scope="session")
def compiled(compiled):
    """Version 1 of the rules, where links that lead in a circle are a cycle: the shortest way to make one."""
    return partial(compiled, rules_version="1")


def test_a_contraction_records_its_members_rules_and_edges(compiled):
    skill = compiled(CYCLE)
    (contraction,) = skill.contractions
    assert contraction.rules == ("R1",)
    assert [(edge.source, edge.target) for edge in contraction.edges] == [
        contraction.members,
        contraction.members[::-1],
    ]
    composite = skill.unit[contraction.unit]
    assert composite.kind is UnitKind.COMPOSITE
    assert composite.members == contraction.members
    assert [extent.lines.first for extent in composite.extents] == [3, 9]


def test_members_keep_their_places_in_the_document(compiled):
    skill = compiled(CYCLE)
    (contraction,) = skill.contractions
    sections = [
        skill.sections[piece.section].title
        for layout in skill.layouts
        for piece in layout.pieces
        if piece.unit == contraction.unit
    ]
    assert sections == ["A", "B"]


def test_edges_from_outside_point_at_the_composite(compiled):
    skill = compiled(CYCLE)
    (contraction,) = skill.contractions
    outside = [edge for edge in skill.edges if edge.rule == "R1"]
    assert [edge.target for edge in outside] == [contraction.unit]
    assert all(edge.source in skill.unit and edge.target in skill.unit for edge in skill.edges)


def test_a_composite_is_placed_in_the_lowest_common_section(compiled):
    inner = "## A\n\n### X\n\n[y](#y)\n\n### Y\n\n[x](#x)\n\n## B\n\ntext\n"
    skill = compiled(inner)
    assert skill.unit[skill.contractions[0].unit].section == ("A",)
    assert compiled(CYCLE).unit[compiled(CYCLE).contractions[0].unit].section == ()


def test_the_trigger_is_in_no_cycle(compiled):
    skill = compiled("---\nname: x\ndescription: See [a](#a) and x.md.\n---\n## A\n\ntext\n")
    assert not skill.contractions
    assert not skill.needs["m"]


def test_two_cycles_become_two_composites(compiled):
    skill = compiled({"SKILL.md": CYCLE, "a.md": "See b.md", "b.md": "See a.md"})
    assert [contraction.rules for contraction in skill.contractions] == [("R1",), ("R2",)]


_NAMES = ["a", "b", "c", "d", "e"]


@given(st.sets(st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES)), max_size=14))
@settings(max_examples=150, deadline=None)
def test_contracted_units_are_those_that_reach_each_other(compiled, links):
    files = {
        "SKILL.md": "x",
        **{
            f"{name}.md": " ".join(f"see {target}.md" for source, target in sorted(links) if source == name)
            for name in _NAMES
        },
    }
    skill = compiled(files)
    reach = {name: {name} for name in _NAMES}
    for _ in _NAMES:
        for source, target in links:
            reach[source] |= reach[target]
    expected = {frozenset(b for b in _NAMES if b in reach[a] and a in reach[b]) for a in _NAMES}
    groups = {frozenset(extent.file[0] for extent in unit.extents) for unit in skill.units if unit.kind != "trigger"}
    assert groups - {frozenset("S")} == expected
