from dataclasses import replace

from skillsv.model.coalition import Observation, Operator
from skillsv.report.page_checks import CheckStatus, page_checks


def by_name(valuation, records):
    return {check.name: check for check in page_checks(valuation, records)}


def test_a_good_run_has_no_warning(case):
    checks = by_name(case.valuation, case.records)
    assert set(checks) == {"closure", "renderer identity", "truncation", "unresolved", "activation"}
    assert {check.status for check in checks.values()} == {CheckStatus.GOOD}
    assert checks["truncation"].result == "31% skipped"


def test_operators_that_render_the_whole_skill_differently_warn(case):
    record = next(record for record in case.records if record.truncated_at is None)
    *rest, last = record.steps
    broken = replace(record, steps=(*rest, replace(last, tree="another")))
    assert by_name(case.valuation, [broken])["renderer identity"].status is CheckStatus.WARNING


def test_checks_without_data_are_unknown(case):
    cut = [record for record in case.records if record.truncated_at is not None]
    assert by_name(case.valuation, cut)["renderer identity"].status is CheckStatus.UNKNOWN
    empty = by_name(case.valuation, [])
    assert empty["activation"].status is empty["truncation"].status is CheckStatus.UNKNOWN


def test_a_skill_that_changes_no_score_has_no_effect(case):
    idle = [replace(record, full=record.empty) for record in case.records]
    assert by_name(case.valuation, idle)["activation"].result == "no effect seen"


def test_missing_scores_are_not_compared(case):
    gone = [replace(record, full=(None,) * len(record.full)) for record in case.records]
    assert by_name(case.valuation, gone)["activation"].status is CheckStatus.UNKNOWN


def test_values_that_do_not_add_up_warn(case):
    closure = replace(case.valuation.estimate.closure, covered=False)
    valuation = replace(
        case.valuation, estimate=replace(case.valuation.estimate, closure=closure, truncation_share=None)
    )
    checks = by_name(valuation, case.records)
    assert checks["closure"].status is CheckStatus.WARNING
    assert checks["truncation"].result == "off"


def test_chains_without_steps_leave_renderer_identity_unknown(case):
    idle = [replace(record, steps=()) for record in case.records]
    assert by_name(case.valuation, idle)["renderer identity"].status is CheckStatus.UNKNOWN


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
    (check,) = [check for check in page_checks(case.valuation, (), observations) if check.name == "activation"]
    assert check.result == "50% of answers"


def test_renderer_identity_of_an_adaptive_run_compares_both_renderings(case):
    same = replace(case.valuation, full_digests={"delete": "a", "pad": "a"})
    broken = replace(case.valuation, full_digests={"delete": "a", "pad": "b"})
    one = replace(case.valuation, full_digests={"delete": "a"})
    statuses = [by_name(valuation, [])["renderer identity"].status for valuation in (same, broken, one)]
    assert statuses == [CheckStatus.GOOD, CheckStatus.WARNING, CheckStatus.UNKNOWN]
