import pytest

from skillsv.model.rollout import Usage
from skillsv.rollout import PerRollout
from skillsv.rollout.adaptive import advise, forecast_adaptive, least_budget


def test_a_noisy_agent_and_a_second_operator_need_more():
    assert least_budget(80, noisy=False) < least_budget(80, noisy=True)
    assert least_budget(80, noisy=False, operators=2) < 2.2 * least_budget(80, noisy=False)


def test_the_forecast_is_the_budget_or_a_range_and_knows_the_method():
    given = forecast_adaptive(80, budget=1000, per_rollout=PerRollout(usage=Usage(usd=0.01), seconds=2.0), jobs=4)
    assert given.method == "auto"
    assert given.low.rollouts == given.high.rollouts == 1000
    assert given.expected.usd == pytest.approx(10.0)
    assert given.expected.seconds == pytest.approx(500.0)
    free = forecast_adaptive(80)
    assert free.low.rollouts < free.high.rollouts
    assert free.expected.usd is None


def test_too_small_a_budget_is_said_before_spending_with_a_cheaper_way():
    advice = advise(100, tasks=80, units=49, sections=8)
    assert advice is not None
    assert "49 units on 80 tasks" in advice.message
    assert "--granularity section" in advice.hint
    middle = advise(1000, tasks=80, units=49, sections=8)
    assert middle is not None
    assert "2,400" in middle.message
    assert advise(2400, tasks=80, units=49, sections=8) is None
