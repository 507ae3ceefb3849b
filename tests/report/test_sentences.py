from dataclasses import replace

import pytest

from skillsv.model.rollout import Usage
from skillsv.model.value import Action, Interval
from skillsv.report.sentences import (
    concentration_sentence,
    cost_words,
    execution_units,
    lift_sentence,
    removable_units,
    saving_sentence,
    spending_sentence,
    unit_label,
)


def test_labels_are_first_words_without_markup(case):
    labels = [unit_label(unit) for unit in execution_units(case.valuation)]
    assert "State the parcel number in the first sentence." in labels
    assert "Run scripts/refund.py with the parcel number." in labels
    assert "class · duty" in labels
    assert "references/tariff.md" in labels


def test_lift_sentence_claims_a_lift_only_if_the_interval_excludes_zero(case):
    assert lift_sentence(case.valuation).startswith("The skill lifts the score from 26.0 to 66.5: +40.5")
    unsure = replace(case.valuation.estimate, content_lift=Interval(0.02, -0.03, 0.07))
    assert lift_sentence(replace(case.valuation, estimate=unsure)).startswith("No lift shown")
    worse = replace(case.valuation.estimate, content_lift=Interval(-0.2, -0.3, -0.1))
    assert "lowers" in lift_sentence(replace(case.valuation, estimate=worse))


def test_saving_sentence_counts_delete_and_harmful_units(case):
    units = removable_units(case.valuation)
    assert {unit.verdict.action for unit in units} == {Action.DELETE, Action.HARMFUL}
    tokens = sum(unit.tokens for unit in units)
    assert saving_sentence(case.valuation).startswith(
        f"{len(units)} units are worthless or harmful: deleting saves {tokens} tokens"
    )


def test_concentration_sentence_counts_the_units_that_hold_most_gains(case):
    units = execution_units(case.valuation)
    gains = sorted((max(0.0, unit.value.net.value) for unit in units), reverse=True)
    number = int(concentration_sentence(case.valuation).split(" of 17 units carry 90% of the gains")[0])
    assert sum(gains[:number]) >= 0.9 * sum(gains) > sum(gains[: number - 1])


def test_spending_sentence_counts_cut_answers_if_any(case):
    assert "cut" not in spending_sentence(case.valuation)
    cut = replace(case.valuation, rollouts=replace(case.valuation.rollouts, cut=1))
    assert "2 failed, 1 answer cut by the token limit, forecast" in spending_sentence(cut)


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(input_tokens=900, output_tokens=100, usd=1.5), "7 rollouts, 1,000 tokens, $1.50, 12 s of agent time"),
        (Usage(input_tokens=900, output_tokens=100), "7 rollouts, 1,000 tokens, cost unknown, 12 s of agent time"),
        (Usage(), "7 rollouts, tokens and cost unknown, 12 s of agent time"),
    ],
)
def test_cost_words_name_tokens_money_and_time_and_what_is_unknown(usage, words):
    assert cost_words(7, usage, 12.3) == words


def test_spending_sentence_omits_unknown_money(case):
    assert "$3.18" in spending_sentence(case.valuation)
    usage = replace(case.valuation.usage, usd=None)
    assert "$" not in spending_sentence(replace(case.valuation, usage=usage))
