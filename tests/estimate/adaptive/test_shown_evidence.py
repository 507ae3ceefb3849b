"""What the values of all units show together: signs, and units worth less than the resolution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.estimate.adaptive.shown_evidence import (
    LEAST_ROLLOUTS,
    JudgedUnits,
    _drawn_above,
    _fewest_false,
    show_evidence,
)
from skillsv.estimate.adaptive.values import ValueDraws
from skillsv.model.value import Evidence, Interval

RESOLUTION = 0.02
NARROW = Interval(0.0, -0.01, 0.01)
"""An interval within the resolution."""


def drawn(*columns):
    """Values with these draws, a column for each unit."""
    draws = np.array(columns, dtype=np.float64).T
    units = draws.shape[1]
    return ValueDraws(
        values=draws.mean(axis=0),
        draws=draws,
        task_values=np.ones((1, units)),
        task_variance=np.zeros((1, units)),
        task_sums=np.zeros(1),
        separated=np.ones(units, dtype=np.bool_),
    )


def evidence(net, *, noisy, interval=NARROW, rollouts=LEAST_ROLLOUTS, **judged):
    units = len(net.values)
    known = {"intervals": [interval] * units, "tested": [True] * units, "identical": [False] * units, **judged}
    known = {name: value if name == "intervals" else np.array(value) for name, value in known.items()}
    return show_evidence(
        net, JudgedUnits(error=net.standard_error, **known), RESOLUTION, noisy=noisy, rollouts=rollouts
    )


def rarely_large(large):
    """A unit without effect in most of 80 draws, and with a large one in the others."""
    return [0.05] * large + [0.0] * (80 - large)


def test_a_unit_of_a_noisy_agent_with_rare_large_draws_is_not_called_about_zero():
    net = drawn(rarely_large(3))
    assert evidence(net, noisy=True) == [Evidence.UNRESOLVED]


def test_a_unit_of_a_steady_agent_with_an_error_near_the_resolution_is_not_called_about_zero():
    nearly, well_below = (drawn([-error, error] * 40) for error in (0.008, 0.005))
    assert evidence(nearly, noisy=False) == [Evidence.UNRESOLVED]
    assert evidence(well_below, noisy=False) == [Evidence.NEGLIGIBLE]


def test_a_unit_of_a_noisy_agent_that_no_draw_finds_large_is_called_about_zero():
    assert evidence(drawn(rarely_large(0)), noisy=True) == [Evidence.NEGLIGIBLE]


def test_no_unit_of_a_noisy_agent_is_called_expendable_before_enough_rollouts():
    wide = Interval(0.0, -0.1, 0.1)
    for interval, shown in ((NARROW, Evidence.NEGLIGIBLE), (wide, Evidence.EXPENDABLE)):
        net = drawn(rarely_large(0))
        assert evidence(net, noisy=True, interval=interval) == [shown]
        early = evidence(net, noisy=True, interval=interval, rollouts=LEAST_ROLLOUTS - 1)
        assert early == [Evidence.UNRESOLVED]
        assert evidence(net, noisy=False, interval=interval, rollouts=1) == [shown]


def test_a_doubtful_unit_is_expendable_among_many_that_are_not_doubtful():
    net = drawn(rarely_large(3), *[rarely_large(0)] * 4)
    found = evidence(net, noisy=True, interval=Interval(0.0, -0.1, 0.03))
    assert found == [Evidence.EXPENDABLE] * 5


@pytest.mark.parametrize("noisy", [False, True])
def test_harmful_units_do_not_make_a_doubtful_one_expendable(noisy):
    doubtful, harmful = rarely_large(3), [-0.2, -0.19] * 40
    net = drawn(doubtful, *[harmful] * 9)
    wide, below = Interval(0.0, -0.1, 0.1), Interval(-0.2, -0.22, -0.18)
    found = evidence(net, noisy=noisy, intervals=[wide, *[below] * 9])
    assert found == [Evidence.UNRESOLVED, *[Evidence.NEGATIVE] * 9]


def test_units_without_bytes_and_untested_ones_do_not_make_a_doubtful_one_expendable():
    net = drawn(rarely_large(3), *[rarely_large(0)] * 8)
    no_byte, tested = [False] + [True] * 4 + [False] * 4, [True] * 5 + [False] * 4
    found = evidence(net, noisy=True, interval=Interval(0.0, -0.1, 0.1), identical=no_byte, tested=tested)
    assert found == [Evidence.UNRESOLVED, *[Evidence.IDENTICAL] * 4, *[Evidence.UNRESOLVED] * 4]


def test_draws_are_widened_to_the_error_on_the_panel():
    net = drawn([0.015] * 40 + [-0.015] * 40)
    assert _drawn_above(net, net.standard_error, RESOLUTION)[0] == 0.0
    assert _drawn_above(net, 2.0 * net.standard_error, RESOLUTION)[0] == pytest.approx(0.5)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30), st.floats(0.001, 0.2))
def test_as_many_units_as_the_rate_allows_are_chosen(chances, rate):
    chance = np.array(chances)
    chosen = _fewest_false(chance, rate)
    if chosen.any():
        assert chance[chosen].mean() <= rate + 1e-12
        assert chance[chosen].max() <= chance[~chosen].min(initial=1.0)
    if not chosen.all():
        next_one = np.sort(chance)[: int(chosen.sum()) + 1]
        assert next_one.mean() > rate - 1e-12
