"""The sampler: only feasible orders, all of them, the trigger first, with the paper's probabilities."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skillsv.errors import SkillSVError
from skillsv.model.skill import Block, Leaf
from skillsv.order import Sampler, check, exact_design, probability

SEEDS = st.integers(0, 2**32 - 1)


def leaves(block):
    return [block.unit] if isinstance(block, Leaf) else [unit for child in block.children for unit in leaves(child)]


def feasible(compiled, order):
    """The definition of a feasible order: closed prefixes and contiguous blocks."""
    place = {unit: index for index, unit in enumerate(order)}
    if any(place[unit] < place[need] for unit, needs in compiled.needs.items() for need in needs):
        return False
    todo = [compiled.hierarchy]
    while todo:
        block = todo.pop()
        if isinstance(block, Block):
            places = sorted(place[unit] for unit in leaves(block))
            if places and places[-1] - places[0] != len(places) - 1:
                return False
            todo.extend(block.children)
    return True


def test_the_papers_example_of_three_units(structure):
    compiled = structure(("x", "y", "z"), [("y", "x")])
    assert probability(compiled, ("z", "x", "y")) == 1 / 2
    assert probability(compiled, ("x", "y", "z")) == 1 / 4
    assert probability(compiled, ("x", "z", "y")) == 1 / 4
    assert probability(compiled, ("y", "x", "z")) == 0


def test_sampled_frequencies_of_the_papers_example(structure):
    sampler = Sampler(structure(("x", "y", "z"), [("y", "x")]))
    rng = np.random.default_rng(2026)
    seen = Counter("".join(order) for order in sampler.orders(rng, 20_000))
    assert set(seen) == {"xyz", "xzy", "zxy"}
    result = stats.chisquare([seen["zxy"], seen["xyz"], seen["xzy"]], [10_000, 5_000, 5_000])
    assert result.pvalue > 1e-6


def test_each_choice_takes_one_draw_and_the_last_unit_takes_the_free_place(structure):
    """Orders of earlier runs are drawn again from their seeds, so the use of the draws is fixed."""
    draws = np.random.default_rng(5).random(4).tolist()
    eligible, expected = list("wxyz"), []
    for draw in draws:
        pick = int(draw * len(eligible))
        eligible[pick], eligible[-1] = eligible[-1], eligible[pick]
        expected.append(eligible.pop())
    assert Sampler(structure(("w", "x", "y", "z"), [])).sample(np.random.default_rng(5)) == tuple(expected)


def test_the_same_seed_gives_the_same_orders(triggered):
    sampler = Sampler(triggered((("a", "b"), ("c", "d", "e"))))
    draws = [list(sampler.orders(np.random.default_rng(7), 20)) for _ in range(2)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 1


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_the_support_is_the_set_of_feasible_orders(random_skill, seed):
    compiled = random_skill(np.random.default_rng(seed), most=6)
    trigger, *rest = (unit.id for unit in compiled.units)
    chances = {order: probability(compiled, order) for order in ((trigger, *tail) for tail in permutations(rest))}
    assert {order for order, chance in chances.items() if chance} == {o for o in chances if feasible(compiled, o)}
    assert sum(chances.values()) == pytest.approx(1)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_every_sampled_order_is_feasible_and_begins_with_the_trigger(random_skill, seed):
    rng = np.random.default_rng(seed)
    compiled = random_skill(rng, most=30)
    for order in Sampler(compiled).orders(rng, 3):
        assert sorted(order) == sorted(compiled.everything)
        assert order[0] == compiled.trigger
        assert feasible(compiled, order)
        check(compiled, order)


@pytest.mark.parametrize("seed", range(6))
def test_sampled_prefixes_follow_the_exact_probabilities(random_skill, seed):
    """Chi-square of the prefix at half length against the block DP, on structures of about a dozen units."""
    rng = np.random.default_rng([11, seed])
    compiled = random_skill(rng, most=14)
    while len(compiled.units) < 10:
        compiled = random_skill(rng, most=14)
    design = exact_design(compiled)
    half = len(compiled.units) // 2
    sizes = design.coalitions.sum(axis=1)
    chance = np.bincount(design.before, weights=design.probability, minlength=len(sizes))
    rows = {coalition: row for row, coalition in enumerate(design.named()) if sizes[row] == half}
    draws = 4000
    seen = Counter(rows[frozenset(order[:half])] for order in Sampler(compiled).orders(rng, draws))
    expected = {row: draws * chance[row] for row in rows.values()}
    assert sum(expected.values()) == pytest.approx(draws)
    common = [row for row in expected if expected[row] >= 5]
    observed = [seen[row] for row in common]
    theory = [expected[row] for row in common]
    rare = draws - sum(theory)
    if rare > 1e-6:
        observed.append(draws - sum(observed))
        theory.append(rare)
    if len(theory) > 1:
        assert stats.chisquare(observed, theory).pvalue > 1e-6


def test_blocks_without_units_change_nothing(structure):
    with_empty = structure(("x", ("y", ()), (), "z"), [("y", "x")])
    assert {len(order) for order in Sampler(with_empty).orders(np.random.default_rng(0), 5)} == {3}
    assert probability(with_empty, ("z", "x", "y")) == 1 / 2


def test_a_hierarchy_that_contradicts_the_dependencies_is_refused(structure):
    with pytest.raises(SkillSVError, match="wait for each other"):
        Sampler(structure((("a", "b"), ("c", "d")), [("a", "c"), ("d", "b")]))


def test_a_hierarchy_that_names_a_unit_twice_or_leaves_one_out_is_refused(structure):
    compiled = structure(("a", "b"))
    for children in (("a", "a", "b"), ("a",), ("a", "b", "c")):
        broken = replace(compiled, hierarchy=Block("root", tuple(Leaf(name) for name in children)))
        with pytest.raises(SkillSVError):
            Sampler(broken)


def test_check_names_the_first_violation(structure):
    compiled = structure((("a", "b"), "c"), [("b", "a")])
    with pytest.raises(SkillSVError, match="exactly once"):
        check(compiled, ("a", "b"))
    with pytest.raises(SkillSVError, match="b is separated from its block"):
        check(compiled, ("a", "c", "b"))
    nested = structure((("a", ("b", "c")), "d"))
    with pytest.raises(SkillSVError, match="c is separated from its block"):
        check(nested, ("a", "b", "d", "c"))
    with pytest.raises(SkillSVError, match="b comes before"):
        check(compiled, ("b", "a", "c"))
