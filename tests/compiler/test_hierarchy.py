"""The hierarchy: its repair expands no more blocks than the conflict needs, and records them."""

from __future__ import annotations

import copy
from graphlib import TopologicalSorter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler.hierarchy import document_tree, reconcile
from skillsv.model.skill import Block, Edge, Leaf, Section


def tree(shape, units, sections, section_of, parent=None):
    """Sections, and the section of each unit, from nested lists: a list is a section, a string a unit."""
    index = len(sections)
    sections.append(Section(title=f"s{index}", path=(), file=None, level=0, parent=parent))
    for part in shape:
        if isinstance(part, str):
            units.append(part)
            section_of[part] = index
        else:
            tree(part, units, sections, section_of, index)


def repaired(shape, needs):
    units, sections, section_of = [], [], {}
    tree(shape, units, sections, section_of)
    edges = [Edge(rule="R1", source=source, target=target, evidence="e") for source, target in needs]
    return reconcile(document_tree(sections, units, section_of), edges)


def shape_of(node):
    return node.unit if isinstance(node, Leaf) else [shape_of(child) for child in node.children]


def test_without_conflict_the_document_tree_is_unchanged():
    block, repairs = repaired([["a", "b"], ["c", "d"]], [("a", "c"), ("b", "d")])
    assert shape_of(block) == [["a", "b"], ["c", "d"]]
    assert repairs == ()


def test_blocks_on_the_witness_cycle_are_expanded_and_recorded():
    block, repairs = repaired([["a", "b"], ["c", "d"], ["e", "f"]], [("a", "c"), ("d", "b")])
    assert shape_of(block) == ["a", "b", "c", "d", ["e", "f"]]
    assert [(repair.node, repair.expanded, repair.cycle) for repair in repairs] == [
        ("s0", "s1", ("s1", "s2")),
        ("s0", "s2", ("s1", "s2")),
    ]
    assert repairs[0].rules == ("R1",)


def test_expansion_keeps_the_blocks_below_intact():
    block, _ = repaired([["a", "b", ["x", "y"]], ["c", "d", ["z", "w"]]], [("a", "c"), ("d", "b")])
    assert shape_of(block) == ["a", "b", ["x", "y"], "c", "d", ["z", "w"]]


def test_a_conflict_is_repaired_at_the_lowest_node_that_has_it():
    shape = [[["a", "b"], ["c", "d"]], ["e", "f"]]
    block, repairs = repaired(shape, [("a", "c"), ("d", "b")])
    assert shape_of(block) == [["a", "b", "c", "d"], ["e", "f"]]
    assert {repair.node for repair in repairs} == {"s1"}


def test_conflicts_everywhere_leave_single_units_that_can_be_ordered():
    """All blocks are expanded, the quotient graph is D itself, and an order exists."""
    shape = [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]]
    needs = [("a1", "b1"), ("b2", "a2"), ("a1", "c1"), ("c2", "a1")]
    block, repairs = repaired(shape, needs)
    assert shape_of(block) == ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert [repair.expanded for repair in repairs] == ["s1", "s2", "s3"]
    assert list(TopologicalSorter({unit: {v for u, v in needs if u == unit} for unit in leaves(block)}).static_order())


def test_no_more_blocks_are_expanded_than_the_conflict_needs():
    """Every section needs every other, but two expanded blocks are enough: the third fits between their units."""
    needs = [(f"{first}1", f"{second}2") for first in "abc" for second in "abc" if first != second]
    block, repairs = repaired([["a1", "a2"], ["b1", "b2"], ["c1", "c2"]], needs)
    assert shape_of(block) == ["a1", "a2", "b1", "b2", ["c1", "c2"]]
    assert len(repairs) == 2


def test_the_witness_is_the_shortest_cycle_through_the_smallest_block():
    # Two cycles: through three large blocks, and through a small and a large one.
    shape = [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"], ["x", "y"]]
    needs = [("a", "d"), ("e", "g"), ("h", "b"), ("x", "a"), ("c", "y")]
    block, repairs = repaired(shape, needs)
    assert repairs[0].cycle == ("s4", "s1")
    # Once s1 is expanded, the long cycle is gone: its other blocks stay together.
    assert shape_of(block) == ["a", "b", "c", ["d", "e", "f"], ["g", "h", "i"], "x", "y"]


@st.composite
def forests(draw):
    names = [f"u{index}" for index in range(draw(st.integers(2, 12)))]

    def grow(part, depth):
        if depth == 3 or len(part) < 2:
            return list(part)
        cuts = sorted(draw(st.sets(st.integers(1, len(part) - 1), max_size=3)))
        groups = [part[a:b] for a, b in zip([0, *cuts], [*cuts, len(part)], strict=True)]
        if len(groups) == 1:
            return list(part)
        return [group[0] if len(group) == 1 else grow(group, depth + 1) for group in groups]

    order = draw(st.permutations(names))
    pairs = draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=14))
    rank = {name: index for index, name in enumerate(order)}
    return grow(names, 0), sorted({(a, b) if rank[a] > rank[b] else (b, a) for a, b in pairs if a != b})


def leaves(node):
    return [node.unit] if isinstance(node, Leaf) else [unit for child in node.children for unit in leaves(child)]


def blocks(node):
    if isinstance(node, Block):
        yield node
        for child in node.children:
            yield from blocks(child)


@pytest.mark.heavy
@given(forests())
@settings(max_examples=300, deadline=None)
def test_repaired_quotients_are_acyclic_and_repairs_only_expand_blocks(case):
    shape, needs = case
    before = copy.deepcopy(shape)
    block, repairs = repaired(shape, needs)
    assert shape == before
    original, _ = repaired(shape, [])
    assert leaves(block) == leaves(original)
    assert {tuple(leaves(node)) for node in blocks(block)} <= {tuple(leaves(node)) for node in blocks(original)}
    assert len(list(blocks(original))) - len(list(blocks(block))) == len(repairs)
    for node in blocks(block):
        owner = {unit: index for index, child in enumerate(node.children) for unit in leaves(child)}
        arcs = {index: set() for index in range(len(node.children))}
        for source, target in needs:
            if source in owner and target in owner and owner[source] != owner[target]:
                arcs[owner[source]].add(owner[target])
        TopologicalSorter(arcs).prepare()
    if not repairs:
        assert shape_of(block) == shape_of(original)
