"""What the values of several agents show about a unit."""

from types import SimpleNamespace

import pytest

from skillsv.decide.agent_effects import effect_of, find_disagreements, pattern_of
from skillsv.model.value import Evidence, Interval, UnitValue


def unit(value, error, evidence=Evidence.UNRESOLVED, name="u"):
    interval = Interval(value, value - 2 * error, value + 2 * error)
    return UnitValue(id=name, net=interval, standard_error=error, evidence=evidence)


@pytest.mark.parametrize(
    ("effects", "pattern"),
    [
        (["helps", "helps"], "helps all"),
        (["helps", "none"], "helps some"),
        (["helps", "open"], "helps some"),
        (["helps", "none", "harms"], "disagree"),
        (["harms", "harms"], "harms all"),
        (["harms", "open"], "harms some"),
        (["none", "none"], "none"),
        (["none", "open"], "open"),
    ],
)
def test_the_pattern_says_whom_a_unit_helps_and_harms(effects, pattern):
    assert pattern_of(effects) == pattern


def test_only_shown_signs_help_or_harm():
    assert [effect_of(unit(0.1, 0.1, evidence)) for evidence in Evidence] == [
        "helps", "harms", "none", "none", "none", "open", "none",
    ]  # fmt: skip


def estimates(*columns, resolution=0.02):
    return [SimpleNamespace(units=column, resolution=resolution) for column in columns]


def test_agents_differ_where_the_difference_exceeds_its_error_and_the_resolution():
    one = [unit(0.30, 0.01, name="a"), unit(0.30, 0.1, name="b"), unit(0.30, 0.0, name="c")]
    other = [unit(0.10, 0.01, name="a"), unit(0.10, 0.1, name="b"), unit(0.29, 0.0, name="c")]
    assert find_disagreements(estimates(one, other), 0.95) == {"a"}


def test_more_comparisons_need_a_larger_difference():
    def column(size, value):
        return [unit(value, 0.03, name=f"u{number}") for number in range(size)]

    assert find_disagreements(estimates(column(1, 0.1), column(1, 0.0)), 0.95) == {"u0"}
    assert find_disagreements(estimates(column(60, 0.1), column(60, 0.0)), 0.95) == set()


def test_a_unit_that_helps_one_agent_and_harms_another_is_a_disagreement():
    helps, harms = unit(0.03, 0.012, Evidence.POSITIVE), unit(-0.03, 0.012, Evidence.NEGATIVE)
    assert find_disagreements(estimates([helps], [harms]), 0.95) == {"u"}
