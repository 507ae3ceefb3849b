from dataclasses import replace

from skillsv.model.coalition import Observation, Operator
from skillsv.report.badges import Mood, badges


def by_name(valuation, records):
    return {badge.name: badge for badge in badges(valuation, records)}


def test_a_good_run_has_no_warning(case):
    found = by_name(case.valuation, case.records)
    assert set(found) == {"closure", "renderer identity", "truncation", "unresolved", "activation"}
    assert {badge.mood for badge in found.values()} == {Mood.GOOD}
    assert found["truncation"].words == "31% skipped"


def test_a_renderer_that_differs_is_seen(case):
    record = next(record for record in case.records if record.truncated_at is None)
    *rest, last = record.steps
    broken = replace(record, steps=(*rest, replace(last, tree="another")))
    assert by_name(case.valuation, [broken])["renderer identity"].mood is Mood.LOOK


def test_what_was_not_compared_is_not_praised(case):
    cut = [record for record in case.records if record.truncated_at is not None]
    assert by_name(case.valuation, cut)["renderer identity"].mood is Mood.UNKNOWN
    nothing = by_name(case.valuation, [])
    assert nothing["activation"].mood is nothing["truncation"].mood is Mood.UNKNOWN


def test_a_skill_that_changes_nothing_is_seen(case):
    idle = [replace(record, full=record.empty) for record in case.records]
    assert by_name(case.valuation, idle)["activation"].words == "no effect seen"


def test_missing_scores_are_not_compared(case):
    gone = [replace(record, full=(None,) * len(record.full)) for record in case.records]
    assert by_name(case.valuation, gone)["activation"].mood is Mood.UNKNOWN


def test_values_that_do_not_add_up_are_seen(case):
    closure = replace(case.valuation.estimate.closure, covered=False)
    valuation = replace(
        case.valuation, estimate=replace(case.valuation.estimate, closure=closure, truncation_share=None)
    )
    found = by_name(valuation, case.records)
    assert found["closure"].mood is Mood.LOOK
    assert found["truncation"].words == "off"


def test_a_chain_without_steps_compares_nothing(case):
    idle = [replace(record, steps=()) for record in case.records]
    assert by_name(case.valuation, idle)["renderer identity"].mood is Mood.UNKNOWN


def test_an_adaptive_run_shows_whether_the_skill_acts(case):
    def seen(units, task, score):
        return Observation(
            coalition=frozenset(units), operator=Operator.DELETE, task=task, replicate=0, score=score, why="anchor"
        )

    acts = [seen("", "a", 0.0), seen("m1", "a", 1.0), seen("", "b", 1.0), seen("m1", "b", 1.0), seen("", "c", None)]
    (badge,) = [each for each in badges(case.valuation, (), acts) if each.name == "activation"]
    assert badge.words == "50% of answers"
