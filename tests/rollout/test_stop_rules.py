"""Stop rules combine with `|` and `&`, and say why they stop."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.errors import SettingsError
from skillsv.model.rollout import Usage
from skillsv.rollout.stop_rules import (
    Continued,
    EstimateStatus,
    MaxAttempts,
    MaxDollars,
    MaxRollouts,
    MaxSeconds,
    MaxTokens,
    Never,
    Progress,
    UntilResolved,
    UntilWidth,
    budget,
)

PROGRESS = st.builds(
    Progress,
    attempts=st.integers(0, 2000),
    usage=st.builds(Usage, input_tokens=st.none() | st.integers(0, 2000), usd=st.none() | st.floats(0, 20)),
    seconds=st.floats(0, 2000),
    recorded=st.integers(0, 2000),
    estimate=st.builds(EstimateStatus, width=st.floats(0, 2), resolved=st.floats(0, 1)),
)
RULES = st.recursive(
    st.one_of(
        st.just(Never()),
        st.builds(MaxAttempts, st.integers(0, 1000)),
        st.builds(MaxTokens, st.integers(0, 1000)),
        st.builds(MaxDollars, st.floats(0, 10)),
        st.builds(MaxSeconds, st.floats(0, 1000)),
        st.builds(MaxRollouts, st.integers(1, 1000)),
        st.builds(UntilWidth, st.floats(0.01, 2)),
        st.builds(UntilResolved, st.floats(0.01, 1)),
    ),
    lambda inner: st.one_of(
        st.builds(lambda left, right: left | right, inner, inner),
        st.builds(lambda left, right: left & right, inner, inner),
    ),
    max_leaves=6,
)


@given(RULES, RULES, PROGRESS)
def test_either_stops_when_one_does_and_both_when_both_do(left, right, progress):
    rooms = left.room(progress), right.room(progress)
    assert (left | right).room(progress) == min(rooms)
    assert (left & right).room(progress) == max(rooms)
    reasons = left.reached(progress), right.reached(progress)
    assert (left | right).reached(progress) == (reasons[0] or reasons[1])
    assert (left & right).reached(progress) == (" and ".join(reasons) if all(reasons) else None)


@given(RULES, PROGRESS)
def test_a_rule_combined_with_itself_or_never_keeps_its_room(rule, progress):
    room = rule.room(progress)
    assert (rule | rule).room(progress) == (rule & rule).room(progress) == room
    assert (rule | Never()).room(progress) == room
    assert (rule & Never()).room(progress) == math.inf


def test_reasons_name_the_rule_that_stopped():
    def reason(rule, recorded):
        return rule.reason(Progress(recorded=recorded, estimate=EstimateStatus(width=0.02, resolved=1.0)))

    assert reason(MaxRollouts(500) | UntilWidth(0.03), 100) == "every interval at most 3 points wide"
    assert reason(MaxRollouts(500) | UntilWidth(0.01), 500) == "the budget of rollouts"
    assert reason(MaxRollouts(500) | UntilWidth(0.01), 499) == "the budget of rollouts", (
        "one is left, and a batch needs two"
    )
    assert (
        reason(UntilResolved(0.9) & MaxRollouts(50), 50) == "a verdict on 90% of the units and the budget of rollouts"
    )


@pytest.mark.parametrize(
    ("progress", "reason"),
    [
        (Progress(attempts=30), "30 rollouts"),
        (Progress(usage=Usage(input_tokens=900, output_tokens=100)), "1,000 tokens"),
        (Progress(usage=Usage(usd=2.5)), "$2.50"),
        (Progress(seconds=3600.0), "3,600 s"),
        (Progress(attempts=29, usage=Usage(input_tokens=999, usd=2.49), seconds=3599.9), None),
        (Progress(recorded=9999), None),
    ],
)
def test_a_budget_stops_at_the_first_limit_that_is_reached(progress, reason):
    assert budget(rollouts=30, tokens=1000, usd=2.5, seconds=3600.0).reached(progress) == reason
    assert budget().reached(progress) is None


def test_a_continued_budget_counts_earlier_sessions_and_names_the_limit_of_the_job():
    rule = Continued(budget(rollouts=100, seconds=8), Progress(attempts=90, seconds=6.0))
    assert rule.reached(Progress(attempts=9, seconds=1.0)) is None
    assert rule.reached(Progress(attempts=10)) == "100 rollouts"
    assert rule.reached(Progress(seconds=2.0)) == "8 s"
    assert rule.seconds_left(Progress(seconds=0.5)) == 1.5


@pytest.mark.parametrize("rule", [lambda: MaxRollouts(0), lambda: UntilWidth(0.0), lambda: UntilResolved(1.5)])
def test_rules_that_cannot_be_met_are_refused(rule):
    with pytest.raises(SettingsError):
        rule()


@given(RULES, PROGRESS)
def test_a_rule_stops_once_the_seconds_that_it_names_have_passed(rule, progress):
    left = rule.seconds_left(progress)
    assert (left == 0.0) == (rule.reached(progress) is not None)
    if math.isfinite(left):
        assert rule.reached(replace(progress, seconds=progress.seconds + left * 1.0001)) is not None
