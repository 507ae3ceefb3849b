"""The forecast is the paper's formula, and the walk keeps to it."""

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
    told = forecast(50, 8, 10, BOTH, gammas=(0.2, 0.2, 1.0))
    assert told.expected.rollouts == round(10 * 8 * (4 + 2 * 0.2 * 48)) == 1856
    assert told.high.rollouts == 10 * 8 * (4 + 2 * 48)
    full = 2 * 10 * 51 * 40
    assert full / told.expected.rollouts > 10, "more than tenfold, as the paper says"


def test_deletion_alone_has_three_anchors():
    assert forecast(50, 8, 10, DELETE, gammas=(0, 0, 1)).low.rollouts == 10 * 8 * 3
    assert forecast(50, 8, 10, DELETE, gammas=(0, 0, 1)).high.rollouts == 10 * 8 * (3 + 48)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 4), st.sampled_from([BOTH, DELETE]))
def test_without_truncation_the_walk_asks_for_exactly_what_was_foretold(n, b, operators):
    walk, asked = chain_policy(plan(n=n, b=b, operators=operators), TRIGGER), set()
    everything = frozenset(plan(n=n).order)
    try:
        requests = next(walk)
        while True:
            asked |= {
                (each.coalition, "any" if each.coalition in (everything, frozenset()) else each.operator, each.task)
                for each in requests
            }
            requests = walk.send(dict.fromkeys(requests, 0.0))
    except StopIteration:
        pass
    if n > 1:  # with the trigger alone, {m} is the full skill under all operators
        assert len(asked) == forecast(n, b, 1, operators, gammas=(1, 1, 1)).expected.rollouts


def test_tokens_money_and_time_follow_what_was_measured():
    measured = PerRollout(usage=Usage(input_tokens=900, output_tokens=100, usd=0.02), seconds=6.0)
    told = forecast(10, 4, 5, BOTH, gammas=(0.1, 0.5, 1.0), per_rollout=measured, jobs=8)
    assert told.expected.rollouts == 5 * 4 * 12
    assert (told.expected.tokens, told.expected.seconds) == (240_000, 240 * 6.0 / 8)
    assert told.expected.usd == pytest.approx(4.80)
    assert told.low.usd < told.expected.usd < told.high.usd


def test_a_probe_gives_the_price_of_one_rollout():
    probe = PerRollout.measured(4, Usage(input_tokens=401, usd=1.0), 10.0)
    assert probe == PerRollout(usage=Usage(input_tokens=100, usd=0.25), seconds=2.5)
    assert PerRollout.measured(0, Usage(usd=3.0), 1.0) == PerRollout()


def test_what_is_unknown_stays_unknown():
    told = forecast(10, 4, 5, BOTH)
    assert (told.high.tokens, told.high.usd, told.high.seconds) == (None, None, None)
    free = forecast(10, 4, 5, BOTH, per_rollout=PerRollout(usage=Usage(usd=0.0)))
    assert free.high.usd == 0.0


@pytest.mark.parametrize(
    ("change", "gammas"), [({"n_units": 0}, None), ({"window": 0}, None), ({}, (0.5, 0.1, 1)), ({}, (0, 1, 1.5))]
)
def test_nonsense_is_refused(change, gammas):
    known = {"n_units": 5, "window": 2, "orders": 3, "operators": BOTH} | change
    with pytest.raises(SettingsError):
        forecast(**known, **({} if gammas is None else {"gammas": gammas}))
