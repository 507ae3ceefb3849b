"""What the scores of earlier agents suggest to ask."""

from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.forecast_table import ForecastTable, merge_agents
from skillsv.rollout.adaptive.earlier_agents import TaskSuggestions, choose_coalitions, find_shared_units

FREE = [1 << unit for unit in range(4)]
"""Four units that need no other."""

AND = {0b0000: 0.0, 0b1111: 1.0, 0b0011: 1.0, 0b0001: 0.0, 0b1110: 0.0, 0b1100: 0.0}
"""Scores of a task that needs units 0 and 1."""


def own(scores):
    return {mask: (score,) for mask, score in scores.items()}


def test_each_deciding_unit_gets_a_pair_with_as_few_coalitions_as_possible():
    asked = choose_coalitions(ForecastTable(AND), FREE)
    assert len(asked) == 3, "one coalition besides the full skill shows each unit, and one both of them alone"
    assert asked[-1] == 0b0011
    for unit in (0, 1):
        pairs = [(mask & ~(1 << unit), mask | 1 << unit) for mask in asked]
        assert any({*pair} <= {0b0000, 0b1111, *asked} for pair in pairs)


def test_a_coalition_without_a_needed_unit_is_not_suggested():
    needed = [0b0001, 0b0010, 0b0100, 0b1001]  # unit 3 needs unit 0
    assert 0b1110 in choose_coalitions(ForecastTable(AND), FREE)
    scored = {mask: score for mask, score in AND.items() if mask != 0b1110}
    asked = choose_coalitions(ForecastTable({**scored, 0b0010: 0.0}), needed)
    assert asked
    assert not any(mask & 0b1000 and not mask & 0b0001 for mask in asked)


@given(st.dictionaries(st.integers(0, 63), st.sampled_from([0.0, 1.0]), min_size=2))
def test_suggested_pairs_tell_each_unit_that_decides_the_earlier_agents_score(scores):
    scores |= {0: scores.get(0, 0.0), 63: scores.get(63, 1.0)}
    table = ForecastTable(scores)
    asked = {0, 63, *choose_coalitions(table, [1 << unit for unit in range(6)])}
    agreeing = {mask: (table.forecast(mask),) for mask in asked}
    decided = {
        unit for unit in range(6) for mask, score in scores.items() if scores.get(mask ^ 1 << unit, score) != score
    }
    assert set(find_shared_units(table, agreeing)) == decided


def test_the_deciding_units_are_asked_alone_with_what_they_need():
    needed = [0b0001, 0b1010, 0b0100, 0b1000]  # unit 1 needs unit 3
    assert choose_coalitions(ForecastTable(AND), needed)[-1] == 0b1011
    unknown = {0b0000: 0.0, 0b1111: 1.0, 0b1110: 0.0, 0b1101: 1.0, 0b0101: 0.0}
    assert 0b0001 not in choose_coalitions(ForecastTable(unknown), FREE), "its score is not forecast"


def test_a_unit_is_taken_over_only_where_both_agents_show_its_change():
    table = ForecastTable(AND)
    agrees = own({0b0000: 0.0, 0b1111: 1.0, 0b1110: 0.0})
    assert find_shared_units(table, agrees) == [0]
    turned = own({0b0000: 1.0, 0b1111: 0.0, 0b1110: 1.0})
    assert find_shared_units(table, turned) == []


def test_the_next_table_is_used_only_after_a_contradiction():
    anchors = {0b0000: 0.0, 0b1111: 1.0}
    other = {**anchors, 0b0111: 0.0, 0b1000: 1.0, 0b1110: 1.0}  # unit 3 alone decides
    for agent, further in ((AND, []), (other, [0b1000])):
        task = TaskSuggestions(merge_agents([AND, other]))
        first = task.next_coalitions(own(anchors), FREE)
        assert first == choose_coalitions(ForecastTable(AND), FREE)
        answers = {mask: ForecastTable(agent).forecast(mask) for mask in first}
        assert task.next_coalitions(own(anchors | answers), FREE) == further


def test_a_table_that_was_contradicted_is_not_used_after_another():
    task = TaskSuggestions(merge_agents([AND, {**AND, 0b0000: 1.0}]))
    first = task.next_coalitions(own({0b0000: 0.0, 0b1111: 1.0}), FREE)
    assert task.next_coalitions(own({0b0000: 0.0, 0b1111: 1.0} | dict.fromkeys(first, 0.5)), FREE) == []


def test_scores_hold_while_one_earlier_agent_forecasts_all_of_them():
    assert not TaskSuggestions([]).holds(own(AND)), "without an earlier agent nothing holds"
    anchors = {0b0000: 0.0, 0b1111: 1.0}
    assert not TaskSuggestions(merge_agents([anchors])).holds(own(anchors)), "nobody searched the task"
    task = TaskSuggestions(merge_agents([AND, {**AND, 0b0000: 1.0}]))
    assert not task.holds({}), "the agent has no score yet"
    assert task.holds(own({0b0000: 0.0, 0b1111: 1.0}))
    assert task.holds(own({0b0000: 1.0, 0b1111: 1.0}))
    assert not task.holds(own({0b0000: 0.5, 0b1111: 1.0}))


def test_no_further_table_is_used_once_one_holds():
    anchors = {0b0000: 0.0, 0b1111: 1.0}
    task = TaskSuggestions(merge_agents([AND, {**anchors, 0b0001: 1.0, 0b1101: 0.0, 0b1110: 0.0}]))
    first = task.next_coalitions(own(anchors), FREE)
    answers = own(anchors | {mask: ForecastTable(AND).forecast(mask) for mask in first})
    assert task.tables[1].contradictions(answers) == 0
    assert set(choose_coalitions(task.tables[1], FREE)) - set(answers)
    assert task.next_coalitions(answers, FREE) == []
