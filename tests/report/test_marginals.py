import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Operator
from skillsv.model.task import TaskWindow
from skillsv.report.marginals import marginals_by_unit, mean, paired_difference, score_changes

SCORES = st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 4)


def record(trigger, steps, *, units=None, cut=None):
    names = units or [f"u{index}" for index in range(len(steps))]
    plan = ChainPlan(
        index=0,
        order=("m", *names),
        window=TaskWindow(tasks=("a", "b", "c", "d")),
        operators=(Operator.DELETE,),
        tolerance=0.05,
    )
    chain_steps = tuple(
        ChainStep(operator=Operator.DELETE, position=index + 1, unit=names[index], scores=scores, tree=f"t{index}")
        for index, scores in enumerate(steps)
    )
    return ChainRecord(
        plan=plan, empty=trigger, trigger=(trigger,), full=steps[-1], steps=chain_steps, truncated_at=cut
    )


@given(SCORES, st.lists(SCORES, min_size=1, max_size=6))
def test_differences_sum_to_the_lift_of_the_chain(trigger, steps):
    table = marginals_by_unit([record(trigger, steps)])
    assert sum(item.value for items in table.values() for item in items) == pytest.approx(
        mean(steps[-1]) - mean(trigger)
    )


def test_a_pair_with_a_missing_score_is_left_out():
    assert paired_difference((1.0, None, 0.0), (1.0, 1.0, 1.0)) == 0.5
    assert paired_difference((None,), (1.0,)) is None
    assert mean((None, None)) is None


def test_units_after_the_truncation_count_as_zero():
    table = marginals_by_unit([record((0.0,) * 4, [(1.0,) * 4], units=["u0", "u1", "u2"], cut=1)])
    assert [(table[unit][0].value, table[unit][0].truncated) for unit in ("u0", "u1", "u2")] == [
        (1.0, False),
        (0.0, True),
        (0.0, True),
    ]


def test_score_changes_name_the_tasks_that_changed():
    table = marginals_by_unit([record((0.0, 1.0, 0.0, 1.0), [(1.0, 0.0, 0.0, 1.0)])])
    assert [(change.task, change.before, change.after) for change in score_changes(table["u0"])] == [
        ("b", 1.0, 0.0),
        ("a", 0.0, 1.0),
    ]
