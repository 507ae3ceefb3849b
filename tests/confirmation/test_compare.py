import math

from hypothesis import given
from hypothesis import strategies as st

from skillsv.confirmation.compare import difference
from skillsv.model.value import Interval

values = st.floats(-1, 1)
widths = st.floats(0, 1)


@given(values, widths, widths, values, widths, widths)
def test_a_difference_is_at_least_as_uncertain_as_each_side(a, a_down, a_up, b, b_down, b_up):
    one, other = Interval(a, a - a_down, a + a_up), Interval(b, b - b_down, b + b_up)
    change = difference(one, other)
    assert change.low <= change.value <= change.high
    assert change.value == b - a
    back = difference(other, one)
    assert math.isclose(back.low, -change.high, abs_tol=1e-12)
    assert change.value - change.low >= max(b - other.low, one.high - a) - 1e-12


def test_a_difference_to_no_value_is_no_value():
    change = difference(Interval(math.nan, -0.9, 1.0), Interval(0.2, 0.1, 0.3))
    assert math.isnan(change.value)
    assert (change.low, change.high) == (0.1 - 1.0, 0.3 + 0.9)
