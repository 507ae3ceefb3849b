"""Sums of unit values over sections, with intervals from the sums per chain."""

from dataclasses import replace

import numpy as np
import pytest

from skillsv.estimate import estimate_chains
from skillsv.estimate.totals import sum_interval

UNITS, TASKS = ("a", "b", "c", "d"), ("t0", "t1")


def records(make_chain, make_order, compiled, game):
    rng = np.random.default_rng(2)
    return [make_chain(k, make_order(compiled, rng), TASKS, game) for k in range(12)]


def test_a_unit_in_two_sections_counts_in_their_common_ancestor(make_skill, make_chain, make_order):
    compiled = make_skill(UNITS)
    (layout,) = compiled.layouts
    first = next(piece for piece in layout.pieces if piece.unit == "a")
    split = replace(compiled, layouts=(replace(layout, pieces=(*layout.pieces, replace(first, section=2))),))
    chains = records(make_chain, make_order, compiled, lambda kept, *_: float("a" in kept))
    single, double = (
        {row.path: row.net.value for row in estimate_chains(skill, chains).sections} for skill in (compiled, split)
    )
    assert single == {(): 1.0, ("One",): 1.0, ("Two",): 0.0}
    assert double == {(): 1.0, ("One",): 0.0, ("Two",): 0.0}


def test_redundant_units_have_a_sum_with_a_narrower_interval(make_skill, make_chain, make_order):
    compiled = make_skill(UNITS)
    chains = records(make_chain, make_order, compiled, lambda kept, *_: float(bool({"a", "b"} & kept)))
    estimate = estimate_chains(compiled, chains)
    pair = next(row.net for row in estimate.sections if row.path == ("One",))
    widths = [unit.net.high - unit.net.low for unit in estimate.units[:2]]
    assert pair.value == pytest.approx(1.0)
    assert pair.high - pair.low < min(widths) / 2  # adding the two intervals would be wider than either


def test_a_missing_marginal_counts_as_the_mean_of_its_unit():
    change = np.array([[0.5, 0.25], [np.nan, 0.25], [0.5, 0.25]])
    total = sum_interval(change, np.array([0.5, 0.25]), answers=24, level=0.95, shared_noise=0.0)
    assert total.value == 0.75
    assert total.high - 0.75 == pytest.approx(4.302652730 * (2 / 3) / 24)
