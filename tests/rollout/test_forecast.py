"""The forecast follows the paper's formula, and chains request that number of rollouts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import BOTH, TRIGGER, plan

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.model.rollout import Usage
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.forecast import PerRollout, forecast

DELETE = (Operator.DELETE,)


def test_the_papers_example():
    result = forecast(50, 8, 10, BOTH, gammas=(0.2, 0.2, 1.0))
    assert result.expected.rollouts == round(10 * 8 * (4 + 2 * 0.2 * 48)) == 1856
    assert result.high.rollouts == 10 * 8 * (4 + 2 * 48)
    full = 2 * 10 * 51 * 40
    assert full / result.expected.rollouts > 10, "more than tenfold, as the paper says"


def test_deletion_alone_has_three_anchors():
    assert forecast(50, 8, 10, DELETE, gammas=(0, 0, 1)).low.rollouts == 10 * 8 * 3
    assert forecast(50, 8, 10, DELETE, gammas=(0, 0, 1)).high.rollouts == 10 * 8 * (3 + 48)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 4), st.sampled_from([BOTH, DELETE]))
def test_an_untruncated_chain_requests_exactly_the_forecast_number(n, b, operators):
    policy, asked = chain_policy(plan(n=n, b=b, operators=operators), TRIGGER), set()
    everything = frozenset(plan(n=n).order)
    try:
        requests = next(policy)
        while True:
            asked |= {
                (
                    request.coalition,
                    "any" if request.coalition in (everything, frozenset()) else request.operator,
                    request.task,
                )
                for request in requests
            }
            requests = policy.send(dict.fromkeys(requests, 0.0))
    except StopIteration:
        pass
    if n > 1:  # with the trigger alone, {m} is the full skill under all operators
        assert len(asked) == forecast(n, b, 1, operators, gammas=(1, 1, 1)).expected.rollouts


def test_anchors_outside_of_the_first_window_are_counted():
    chains = forecast(50, 8, 10, BOTH, gammas=(0.2, 0.2, 1.0))
    panel = forecast(50, 8, 10, BOTH, tasks=60, gammas=(0.2, 0.2, 1.0))
    assert panel.low.rollouts - chains.low.rollouts == panel.high.rollouts - chains.high.rollouts == 3 * 52
    assert forecast(50, 8, 10, BOTH, tasks=8) == forecast(50, 8, 10, BOTH)
    assert forecast(1, 8, 10, BOTH, tasks=10).low.rollouts - forecast(1, 8, 10, BOTH).low.rollouts == 2 * 2


def test_tokens_money_and_time_follow_what_was_measured():
    measured = PerRollout(usage=Usage(input_tokens=900, output_tokens=100, usd=0.02), seconds=6.0)
    result = forecast(10, 4, 5, BOTH, gammas=(0.1, 0.5, 1.0), per_rollout=measured, jobs=8)
    assert result.expected.rollouts == 5 * 4 * 12
    assert (result.expected.tokens, result.expected.seconds) == (240_000, 240 * 6.0 / 8)
    assert result.expected.usd == pytest.approx(4.80)
    assert result.low.usd < result.expected.usd < result.high.usd


def test_a_probe_gives_the_price_of_one_rollout():
    probe = PerRollout.measured(4, Usage(input_tokens=401, usd=1.0), 10.0)
    assert probe == PerRollout(usage=Usage(input_tokens=100, usd=0.25), seconds=2.5)
    assert PerRollout.measured(0, Usage(usd=3.0), 1.0) == PerRollout()


def test_what_is_unknown_stays_unknown():
    result = forecast(10, 4, 5, BOTH)
    assert (result.high.tokens, result.high.usd, result.high.seconds) == (None, None, None)
    free = forecast(10, 4, 5, BOTH, per_rollout=PerRollout(usage=Usage(usd=0.0)))
    assert free.high.usd == 0.0


@pytest.mark.parametrize(
    ("change", "gammas"), [({"n_units": 0}, None), ({"window": 0}, None), ({}, (0.5, 0.1, 1)), ({}, (0, 1, 1.5))]
)
def test_invalid_arguments_are_refused(change, gammas):
    known = {"n_units": 5, "window": 2, "orders": 3, "operators": BOTH} | change
    with pytest.raises(SettingsError):
        forecast(**known, **({} if gammas is None else {"gammas": gammas}))


def test_the_full_cost_is_the_whole_panel_without_truncation():
    result = forecast(50, 8, 10, BOTH, tasks=40, gammas=(0.1, 0.2, 1.0))
    assert result.gammas == (0.1, 0.2, 1.0)
    assert result.full_rollouts == 10 * 40 * (4 + 2 * 48)
    assert result.cost_ratio == 1856 / 40_000 == pytest.approx(0.2 * 8 / 40, abs=0.01)
