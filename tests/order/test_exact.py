"""Exact values against brute force and against other Shapley implementations, and the limits of counting."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.skill import Leaf
from skillsv.order import COUNT_LIMIT, TooManyCoalitions, count_reachable, exact_design, exact_values

SEEDS = st.integers(0, 2**32 - 1)


def list_orders(compiled, block=None):
    """All orders of a block with their probability, by following every possible draw of SampleOrder."""
    block = compiled.hierarchy if block is None else block
    if isinstance(block, Leaf):
        return {(block.unit,): 1.0}
    below = {child: {unit for order in list_orders(compiled, child) for unit in order} for child in block.children}
    found = defaultdict(float)

    def walk(done, chance, rest):
        if not rest:
            found[done] += chance
            return
        eligible = [
            child
            for child in rest
            if not any(
                need in below[other]
                for unit in below[child]
                for need in compiled.needs[unit]
                for other in rest - {child}
            )
        ]
        for child in eligible:
            for order, inner in list_orders(compiled, child).items():
                walk(done + order, chance * inner / len(eligible), rest - {child})

    walk((), 1.0, frozenset(block.children))
    return dict(found)


def random_game(rng):
    """A game with one random value for each coalition."""
    table = {}

    def game(coalition):
        if coalition not in table:
            table[coalition] = rng.normal(size=2)
        return table[coalition]

    return game


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_values_equal_brute_force(random_skill, seed):
    rng = np.random.default_rng(seed)
    compiled = random_skill(rng, most=6)
    game = random_game(rng)
    orders = list_orders(compiled)
    values = {unit: np.zeros(2) for unit in compiled.unit}
    reachable = set()
    for order, chance in orders.items():
        for length, unit in enumerate(order):
            before = frozenset(order[:length])
            values[unit] += chance * (game(before | {unit}) - game(before))
            reachable |= {before, before | {unit}}
    found = exact_values(compiled, game)
    assert count_reachable(compiled) == len(reachable)
    assert set(exact_design(compiled).named()) == reachable
    for unit, value in values.items():
        assert found[unit] == pytest.approx(value, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_design_is_a_set_of_marginals(random_skill, seed):
    compiled = random_skill(np.random.default_rng(seed), most=12)
    design = exact_design(compiled)
    assert len(design.coalitions) == count_reachable(compiled) == len(np.unique(design.coalitions, axis=0))
    grown = design.coalitions[design.before].copy()
    assert not grown[np.arange(len(grown)), design.unit].any()
    grown[np.arange(len(grown)), design.unit] = True
    assert (grown == design.coalitions[design.after]).all()
    assert np.bincount(design.unit, weights=design.probability) == pytest.approx(np.ones(len(design.units)))
    assert not design.coalitions[0].any()


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_sum_of_values_is_the_lift(random_skill, seed):
    rng = np.random.default_rng(seed)
    compiled = random_skill(rng, most=12)
    design = exact_design(compiled)
    scores = rng.normal(size=len(design.coalitions))
    full = int(np.flatnonzero(design.coalitions.all(axis=1))[0])
    assert (design.weights @ scores).sum() == pytest.approx(scores[full] - scores[0])


def shapley(units, game):
    """Shapley values by the sum over subsets."""
    size = len(units)
    values = {}
    for unit in units:
        others = [other for other in units if other != unit]
        subsets = chain.from_iterable(combinations(others, length) for length in range(size))
        values[unit] = sum(
            (game(frozenset(subset) | {unit}) - game(frozenset(subset))) / (size * comb(size - 1, len(subset)))
            for subset in subsets
        )
    return values


def test_a_flat_skill_without_dependencies_has_shapley_values(structure):
    units = tuple("abcdef")
    rng = np.random.default_rng(5)
    worth = {frozenset(s): float(rng.normal()) for n in range(7) for s in combinations(units, n)}
    found = exact_values(structure(units), worth.__getitem__)
    assert found == pytest.approx(shapley(units, worth.__getitem__))


def test_values_equal_those_of_shapiq(structure):
    shapiq = pytest.importorskip("shapiq")
    units = tuple(f"u{number}" for number in range(7))
    rng = np.random.default_rng(6)
    worth = {frozenset(s): float(rng.normal()) for n in range(8) for s in combinations(units, n)}
    base = worth[frozenset()]

    def game(rows):
        return np.array([worth[frozenset(np.array(units)[row])] - base for row in np.atleast_2d(rows).astype(bool)])

    theirs = shapiq.ExactComputer(game, n_players=len(units))("SV", order=1)
    ours = exact_values(structure(units), worth.__getitem__)
    assert [ours[unit] for unit in units] == pytest.approx([theirs[(number,)] for number in range(len(units))])


@pytest.mark.parametrize(
    ("sections", "units", "reachable"), [(5, 5, 2_432), (6, 8, 48_832), (7, 8, 113_920), (8, 10, 1_046_784)]
)
def test_the_number_of_reachable_coalitions_of_skills_with_sections(triggered, sections, units, reachable):
    shape = tuple(tuple(f"s{section}u{unit}" for unit in range(units)) for section in range(sections))
    assert count_reachable(triggered(shape)) == reachable + 1  # and the empty one, before the trigger


def test_a_chain_of_dependencies_has_one_coalition_per_length(structure):
    names = tuple(f"u{number}" for number in range(300))
    compiled = structure(names, [(later, first) for first, later in pairwise(names)])
    design = exact_design(compiled)
    assert len(design.coalitions) == count_reachable(compiled) == 301
    assert (design.weights @ design.coalitions.sum(axis=1)) == pytest.approx(np.ones(300))


def test_too_many_coalitions_are_refused_with_their_number(triggered):
    wide = triggered(tuple(f"u{number}" for number in range(40)))
    with pytest.raises(TooManyCoalitions, match="1,099,511,627,777") as caught:
        exact_design(wide)
    assert caught.value.reachable == 2**40 + 1


def test_counting_stops_at_the_limit(triggered):
    wide = triggered(tuple(f"u{number}" for number in range(5_000)))
    assert count_reachable(wide) == COUNT_LIMIT
    assert count_reachable(triggered((*(f"v{number}" for number in range(97)), ("a", "b")))) == 1 + 2**98 + 2**98
    with pytest.raises(TooManyCoalitions, match=r"more than 10\^30 \(limit"):
        exact_design(wide)


def test_counting_stops_at_the_limit_for_many_narrow_blocks(triggered):
    inner = tuple(tuple(f"s{section}u{unit}" for unit in range(90)) for section in range(60))
    assert count_reachable(triggered(inner)) == COUNT_LIMIT


def test_a_chain_of_thousands_is_counted(structure):
    names = tuple(f"u{number}" for number in range(3000))
    assert count_reachable(structure(names, [(later, first) for first, later in pairwise(names)])) == 3001


@pytest.mark.heavy
def test_a_dense_block_graph_is_refused_without_a_number(triggered):
    rng = np.random.default_rng(0)
    low, high = [[f"{side}{number}" for number in range(60)] for side in ("a", "b")]
    needs = [(late, early) for late in high for early in low if rng.random() < 0.08]
    with pytest.raises(TooManyCoalitions, match="too many to count"):
        count_reachable(triggered((*low, *high), needs))
