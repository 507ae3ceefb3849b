"""Section sums: sums of what lies below, with intervals of the chains' own sums."""

from dataclasses import replace

import numpy as np
import pytest

from skillsv.estimate import estimate_chains
from skillsv.estimate.totals import sum_interval

UNITS, TASKS = ("a", "b", "c", "d"), ("t0", "t1")


def records(make_chain, make_order, compiled, game):
    rng = np.random.default_rng(2)
    return [make_chain(k, make_order(compiled, rng), TASKS, game) for k in range(12)]


def test_a_unit_in_two_sections_counts_where_they_meet(make_skill, make_chain, make_order):
    compiled = make_skill(UNITS)
    (layout,) = compiled.layouts
    first = next(piece for piece in layout.pieces if piece.unit == "a")
    split = replace(compiled, layouts=(replace(layout, pieces=(*layout.pieces, replace(first, section=2))),))
    chains = records(make_chain, make_order, compiled, lambda kept, *_: float("a" in kept))
    whole, parted = (
        {row.path: row.net.value for row in estimate_chains(skill, chains).sections} for skill in (compiled, split)
    )
    assert whole == {(): 1.0, ("One",): 1.0, ("Two",): 0.0}
    assert parted == {(): 1.0, ("One",): 0.0, ("Two",): 0.0}


def test_units_that_share_credit_have_a_sum_surer_than_either(make_skill, make_chain, make_order):
    compiled = make_skill(UNITS)
    chains = records(make_chain, make_order, compiled, lambda kept, *_: float(bool({"a", "b"} & kept)))
    estimate = estimate_chains(compiled, chains)
    pair = next(row.net for row in estimate.sections if row.path == ("One",))
    widths = [unit.net.high - unit.net.low for unit in estimate.units[:2]]
    assert pair.value == pytest.approx(1.0)
    assert pair.high - pair.low < min(widths) / 2  # adding the two intervals would be wider than either


def test_a_chain_silent_about_a_unit_counts_with_its_mean():
    change = np.array([[0.5, 0.25], [np.nan, 0.25], [0.5, 0.25]])
    total = sum_interval(change, np.array([0.5, 0.25]), answers=24, level=0.95, luck=0.0)
    assert total.value == 0.75
    assert total.high - 0.75 == pytest.approx(4.302652730 * (2 / 3) / 24)
