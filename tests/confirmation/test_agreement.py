from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from skillsv.confirmation.agreement import agreements, holm, kendall_tau_b, permutation_p
from skillsv.errors import RecordsError
from skillsv.model.value import Interval, Ranking

few_values = st.lists(st.integers(0, 3), min_size=2, max_size=12)


def ranking(method, **values):
    return Ranking(method=method, values={unit: Interval(value, value, value) for unit, value in values.items()})


@given(st.data())
def test_tau_b_equals_scipy_with_ties(data):
    one = data.draw(few_values)
    other = data.draw(st.lists(st.integers(0, 3), min_size=len(one), max_size=len(one)))
    expected, tau = kendalltau(one, other).statistic, kendall_tau_b(one, other)
    if np.isnan(expected):
        assert tau is None
    else:
        assert tau == pytest.approx(expected)


def test_tau_b_equals_values_computed_by_hand():
    # Pairs: (1,2): both rise; (1,3): tie in the second; (2,3): rises, falls. 1 - 1 = 0 of sqrt(3 * 2).
    assert kendall_tau_b([1, 2, 3], [1, 2, 1]) == pytest.approx(0)
    assert kendall_tau_b([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert kendall_tau_b([1, 2, 2], [1, 2, 3]) == pytest.approx(2 / np.sqrt(2 * 3))


def test_permutation_p_approaches_the_share_of_all_permutations():
    one, other = [1, 1, 2, 3, 4], [1, 2, 2, 2, 5]
    observed = kendall_tau_b(one, other)
    taus = [kendall_tau_b(one, shuffled) for shuffled in permutations(other)]
    exact = np.mean([abs(tau) >= abs(observed) - 1e-12 for tau in taus])
    assert permutation_p(one, other, np.random.default_rng(0), permutations=20_000) == pytest.approx(exact, abs=0.01)


def test_a_ranking_of_equal_values_has_no_agreement():
    assert kendall_tau_b([1, 1, 1], [1, 2, 3]) is None
    assert permutation_p([1, 1, 1], [1, 2, 3], np.random.default_rng(0)) is None


def test_holm_equals_values_computed_by_hand():
    # Sorted .01 .03 .04: times 3, 2, 1 is .03 .06 .04, and no later one may be smaller than an earlier one.
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_holm_corrects_over_all_pairs_of_rankings():
    units = {f"u{n}": n for n in range(12)}
    first, second = ranking("a", **units), ranking("b", **units)
    flat = ranking("flat", **dict.fromkeys(units, 0))
    pairs = agreements([first, second, flat], np.random.default_rng(1))
    assert [(pair.first, pair.second) for pair in pairs] == [("a", "b"), ("a", "flat"), ("b", "flat")]
    assert pairs[0].tau == pytest.approx(1)
    assert pairs[0].p_holm == pairs[0].p < 0.01
    assert pairs[1].tau is pairs[1].p is pairs[1].p_holm is None


def test_rankings_of_different_units_are_refused():
    with pytest.raises(RecordsError):
        agreements([ranking("a", x=1, y=2), ranking("b", x=1, z=2)], np.random.default_rng(0))
