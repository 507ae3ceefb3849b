from dataclasses import replace

from skillsv.model.coalition import Observation, Operator
from skillsv.report.page_checks import CheckStatus, checks_sentence, page_checks


def by_name(valuation, records):
    return {check.name: check for check in page_checks(valuation, records)}


def test_a_good_run_has_no_warning(case):
    checks = by_name(case.valuation, case.records)
    assert set(checks) == {
        "values add up",
        "same whole skill",
        "chains cut short",
        "lines decided",
        "skill makes a difference",
    }
    assert {check.status for check in checks.values()} == {CheckStatus.GOOD}
    assert checks["chains cut short"].result == "31% skipped"


def test_operators_that_render_the_whole_skill_differently_warn(case):
    record = next(record for record in case.records if record.truncated_at is None)
    *rest, last = record.steps
    broken = replace(record, steps=(*rest, replace(last, tree="another")))
    assert by_name(case.valuation, [broken])["same whole skill"].status is CheckStatus.WARNING


def test_checks_without_data_are_left_out(case):
    cut = [record for record in case.records if record.truncated_at is not None]
    assert "same whole skill" not in by_name(case.valuation, cut)
    assert set(by_name(case.valuation, [])) == {"values add up", "lines decided"}


def test_the_sentence_of_all_checks_names_what_needs_a_look(case):
    checks = page_checks(case.valuation, case.records)
    assert checks_sentence(checks) == "5 checks, all passed"
    idle = [replace(record, full=record.empty) for record in case.records]
    assert checks_sentence(page_checks(case.valuation, idle)) == "5 checks, look at: skill makes a difference"


def test_a_skill_that_changes_no_score_has_no_effect(case):
    idle = [replace(record, full=record.empty) for record in case.records]
    assert by_name(case.valuation, idle)["skill makes a difference"].result == "no effect seen"


def test_missing_scores_are_not_compared(case):
    gone = [replace(record, full=(None,) * len(record.full)) for record in case.records]
    assert "skill makes a difference" not in by_name(case.valuation, gone)


def test_values_that_do_not_add_up_warn(case):
    closure = replace(case.valuation.estimate.closure, covered=False)
    valuation = replace(
        case.valuation, estimate=replace(case.valuation.estimate, closure=closure, truncation_share=None)
    )
    checks = by_name(valuation, case.records)
    assert checks["values add up"].status is CheckStatus.WARNING
    assert checks["chains cut short"].result == "none"


def test_chains_without_steps_compare_no_whole_skill(case):
    idle = [replace(record, steps=()) for record in case.records]
    assert "same whole skill" not in by_name(case.valuation, idle)


def test_activation_of_an_adaptive_run_compares_its_observations(case):
    def observe(units, task, score):
        return Observation(
            coalition=frozenset(units), operator=Operator.DELETE, task=task, replicate=0, score=score, why="anchor"
        )

    observations = [
        observe("", "a", 0.0),
        observe("m1", "a", 1.0),
        observe("", "b", 1.0),
        observe("m1", "b", 1.0),
        observe("", "c", None),
    ]
    (check,) = [
        check for check in page_checks(case.valuation, (), observations) if check.name == "skill makes a difference"
    ]
    assert check.result == "50% of scores"


def test_the_whole_skill_of_an_adaptive_run_compares_both_renderings(case):
    same = replace(case.valuation, full_digests={"delete": "a", "pad": "a"})
    broken = replace(case.valuation, full_digests={"delete": "a", "pad": "b"})
    one = replace(case.valuation, full_digests={"delete": "a"})
    checks = [by_name(valuation, []).get("same whole skill") for valuation in (same, broken, one)]
    assert [check and check.status for check in checks] == [CheckStatus.GOOD, CheckStatus.WARNING, None]
