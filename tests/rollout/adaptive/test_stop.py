import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.errors import SettingsError
from skillsv.rollout.adaptive import Budget, EstimateStatus, Never, UntilResolved, UntilWidth

STANDINGS = st.builds(EstimateStatus, width=st.floats(0, 2), resolved=st.floats(0, 1))
RULES = st.recursive(
    st.one_of(
        st.just(Never()),
        st.builds(Budget, st.integers(1, 1000)),
        st.builds(UntilWidth, st.floats(0.01, 2)),
        st.builds(UntilResolved, st.floats(0.01, 1)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda left, right: left | right, inner, inner),
        st.builds(lambda left, right: left & right, inner, inner),
    ),
    max_leaves=6,
)


@given(RULES, RULES, st.integers(0, 2000), STANDINGS)
def test_either_stops_when_one_does_and_both_when_both_do(left, right, spent, standing):
    rooms = left.room(spent, standing), right.room(spent, standing)
    assert (left | right).room(spent, standing) == min(rooms)
    assert (left & right).room(spent, standing) == max(rooms)


@given(RULES, st.integers(0, 2000), STANDINGS)
def test_a_rule_with_itself_is_itself_and_never_is_neutral(rule, spent, standing):
    room = rule.room(spent, standing)
    assert (rule | rule).room(spent, standing) == (rule & rule).room(spent, standing) == room
    assert (rule | Never()).room(spent, standing) == room
    assert (rule & Never()).room(spent, standing) == math.inf


def test_reasons_name_the_rule_that_stopped():
    done = EstimateStatus(width=0.02, resolved=1.0)
    assert (Budget(500) | UntilWidth(0.03)).reason(100, done) == "every interval at most 3 points wide"
    assert (Budget(500) | UntilWidth(0.01)).reason(500, done) == "500 rollouts"
    assert (UntilResolved(0.9) & Budget(50)).reason(50, done) == "a verdict on 90% of the units and 50 rollouts"


@pytest.mark.parametrize("rule", [lambda: Budget(0), lambda: UntilWidth(0.0), lambda: UntilResolved(1.5)])
def test_rules_that_cannot_be_met_are_refused(rule):
    with pytest.raises(SettingsError):
        rule()
