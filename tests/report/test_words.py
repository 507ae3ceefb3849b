import math
from dataclasses import replace

from skillsv.model.value import Action, Interval
from skillsv.report import format as formatting


def test_points_are_hundredths_with_a_sign():
    assert formatting.points(0.1234) == "+12.3"
    assert formatting.points(-0.05) == "−5.0"
    assert formatting.points(-0.00001) == "0.0"
    assert formatting.points(0.9, signed=False) == "90.0"
    assert formatting.points(math.nan) == formatting.points(None) == "–"


def test_what_cannot_be_drawn_reaches_to_the_edge():
    assert formatting.drawn(Interval(math.nan, -math.inf, math.nan)) == Interval(0.0, -1.0, 1.0)
    assert formatting.reach_of([]) == 1.0
    assert formatting.reach_of([Interval(0.1, -0.3, 0.2)]) == 0.3


def test_labels_are_the_first_words_without_markup(case):
    labels = [formatting.label(unit) for unit in formatting.execution(case.valuation)]
    assert "State the parcel number in the first sentence." in labels
    assert "Run scripts/refund.py with the parcel number." in labels
    assert "class · duty" in labels
    assert "references/tariff.md" in labels


def test_the_lift_is_claimed_only_when_shown(case):
    assert formatting.lift_sentence(case.valuation).startswith("The skill lifts the score from 26.0 to 66.5: +40.5")
    unsure = replace(case.valuation.estimate, content_lift=Interval(0.02, -0.03, 0.07))
    assert formatting.lift_sentence(replace(case.valuation, estimate=unsure)).startswith("No lift shown")
    worse = replace(case.valuation.estimate, content_lift=Interval(-0.2, -0.3, -0.1))
    assert "lowers" in formatting.lift_sentence(replace(case.valuation, estimate=worse))


def test_what_can_go_counts_dead_and_harmful_units(case):
    gone = formatting.removable(case.valuation)
    assert {unit.verdict.action for unit in gone} == {Action.DELETE, Action.HARMFUL}
    tokens = sum(unit.tokens for unit in gone)
    assert formatting.saving_sentence(case.valuation).startswith(
        f"{len(gone)} units can go, which saves {tokens} tokens"
    )


def test_carriers_are_as_few_as_hold_the_share(case):
    units = formatting.execution(case.valuation)
    gains = sorted((max(0.0, unit.value.net.value) for unit in units), reverse=True)
    count = formatting.carriers(case.valuation)
    assert sum(gains[:count]) >= 0.9 * sum(gains) > sum(gains[: count - 1])


def test_cut_answers_are_counted_where_there_are_any(case):
    assert "cut" not in formatting.spending_sentence(case.valuation)
    cut = replace(case.valuation, rollouts=replace(case.valuation.rollouts, cut=1))
    assert "2 failed, 1 answer cut by the token limit, forecast" in formatting.spending_sentence(cut)


def test_unknown_money_is_not_mentioned(case):
    assert "$3.18" in formatting.spending_sentence(case.valuation)
    usage = replace(case.valuation.usage, usd=None)
    assert "$" not in formatting.spending_sentence(replace(case.valuation, usage=usage))
