import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.concentration import concentration, count_best, count_carriers, cumulative_gains


def test_concentration_is_the_share_of_the_best_tenth_of_units():
    values = {f"u{n}": 1.0 for n in range(9)} | {"best": 11.0, "bad": -5.0}
    assert concentration(values) == pytest.approx(12 / 20)  # a tenth of eleven units is two
    assert concentration({"a": -1.0, "b": 0.0}) is None
    assert concentration({}) is None


def test_a_tenth_of_the_units_is_rounded_up():
    assert [count_best(units) for units in (0, 1, 10, 11, 30, 300)] == [0, 1, 1, 2, 3, 30]


def test_cumulative_gains_rise_from_zero_to_one_best_first():
    assert cumulative_gains({"a": 1.0, "bad": -5.0, "b": 3.0}) == pytest.approx((0.0, 0.75, 1.0, 1.0))
    assert cumulative_gains({"a": 0.0, "b": -1.0}) == cumulative_gains({}) == ()


def test_a_unit_without_a_value_has_no_gain():
    assert cumulative_gains({"a": math.nan, "b": 2.0}) == (0.0, 1.0, 1.0)
    assert concentration({"a": math.nan}) is None


def test_carriers_are_the_fewest_units_that_hold_the_share():
    assert count_carriers({"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05, "bad": -0.4}) == 3
    assert count_carriers({f"u{n}": 0.1 for n in range(10)}) == 9  # 0.9 up to rounding
    assert count_carriers({"a": -0.1}) == count_carriers({}) == 0


@given(values=st.lists(st.floats(-1, 1), max_size=30))
def test_shares_are_sums_of_the_best_values(values):
    gains = sorted((max(value, 0.0) for value in values), reverse=True)
    shares = cumulative_gains({f"u{place}": value for place, value in enumerate(values)})
    if sum(gains):
        assert shares == tuple(math.fsum(gains[:k]) / math.fsum(gains) for k in range(len(gains) + 1))
    else:
        assert shares == ()
