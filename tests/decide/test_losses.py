"""Predicted losses: pairs of units, and the lift at the end."""

from types import SimpleNamespace

import pytest

from skillsv.decide.losses import end_at_lift, sum_losses

VALUES = {"a": 0.1, "b": 0.2, "c": -0.05}
UNITS = frozenset({"m", *VALUES})
SKILL = SimpleNamespace(trigger="m", execution=tuple(VALUES))


@pytest.mark.parametrize(
    ("factor_removed", "without_a", "without_b"),
    [(2.0, 0.0, 0.0), (1.0, 0.1, 0.2), (0.0, 0.3, 0.3)],
    ids=["redundant", "independent", "complementary"],
)
def test_the_first_unit_of_a_pair_loses_its_effect_beside_the_other(factor_removed, without_a, without_b):
    pair = {"a": ("b", 1.0, factor_removed), "b": ("a", 1.0, factor_removed)}
    predict = sum_losses(VALUES, pair)
    assert predict(UNITS) == 0.0
    assert predict(UNITS - {"a"}) == pytest.approx(without_a)
    assert predict(UNITS - {"b"}) == pytest.approx(without_b)
    assert predict(UNITS - {"a", "b"}) == pytest.approx(0.3)


def test_a_partner_without_an_effect_of_its_own_is_no_error():
    assert sum_losses(VALUES, {"a": ("b", 0.0, 2.0)})(UNITS - {"a"}) == pytest.approx(0.025)


def test_what_the_sum_lacks_of_the_lift_is_spread_by_the_size_of_values():
    predict = end_at_lift(sum_losses(VALUES, {}), SKILL, VALUES, 0.32)
    assert predict(UNITS) == 0.0
    assert predict(UNITS - {"c"}) == pytest.approx(-0.05 + 0.07 / 7)
    assert predict(frozenset({"m"})) == pytest.approx(0.32)


def test_a_lift_that_no_unit_explains_is_spread_evenly():
    nothing = dict.fromkeys(VALUES, 0.0)
    predict = end_at_lift(sum_losses(nothing, {}), SKILL, nothing, 0.3)
    assert predict(UNITS - {"a"}) == pytest.approx(0.1)
    assert predict(frozenset({"m"})) == pytest.approx(0.3)


def test_a_skill_of_the_trigger_alone_loses_nothing():
    skill = SimpleNamespace(trigger="m", execution=())
    assert end_at_lift(sum_losses({}, {}), skill, {}, 0.0)(frozenset({"m"})) == 0.0
