"""One agent's scores as forecasts of another's."""

from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.forecast_table import ForecastTable, merge_agents

AND = {0b0000: 0.0, 0b1111: 1.0, 0b0011: 1.0, 0b0001: 0.0, 0b1110: 0.0, 0b1100: 0.0}
"""Scores of a task that needs units 0 and 1."""


def test_a_score_is_forecast_by_the_units_that_decide_the_task():
    table = ForecastTable(AND)
    assert table.forecast(0b0011) == 1.0
    assert table.forecast(0b0111) == 1.0
    assert table.forecast(0b1001) == 0.0
    assert ForecastTable({0b0000: 0.0, 0b1111: 1.0}).forecast(0b0001) is None, "no pattern explains the change"


def test_an_agent_without_scores_forecasts_nothing():
    assert ForecastTable({}).contradictions({0b01: (1.0,), 0b11: (0.0,)}) == 0


@given(st.dictionaries(st.integers(0, 15), st.sampled_from([0.0, 1.0]), min_size=1))
def test_scores_never_contradict_themselves(scores):
    assert ForecastTable(scores).contradictions({mask: (score,) for mask, score in scores.items()}) == 0


def test_scores_that_differ_from_their_forecasts_are_counted():
    assert ForecastTable(AND).contradictions({0b0000: (0.0,), 0b0111: (0.0,), 0b1001: (1.0,), 0b1011: (1.0,)}) == 2


def test_merged_scores_forecast_together():
    table = ForecastTable({0b0000: 0.0, 0b1111: 1.0, 0b1110: 0.0})
    assert table.forecast(0b1101) == 1.0
    assert table.merge({0b0001: 0.0, 0b0011: 1.0})
    assert table.find_deciding() == [0, 1]
    assert table.forecast(0b1101) == 0.0
    assert not table.merge({0b1110: 1.0}), "another score of the same coalition"


def test_agents_whose_scores_never_differ_share_a_table():
    agents = (AND, {0b0000: 0.0, 0b1111: 1.0, 0b0111: 1.0}, {0b0000: 0.0, 0b1111: 0.0}, {})
    tables = merge_agents(agents)
    assert [table.forecast(0b1111) for table in tables] == [1.0, 0.0]
    assert [table.searched for table in tables] == [True, False]
