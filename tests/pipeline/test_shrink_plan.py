"""How a shrink divides its budget, and what it reads from the first batch."""

import pytest

import skillsv as sv
from skillsv.confirmation import Gate
from skillsv.model.coalition import AdaptiveReason, Observation, Operator
from skillsv.pipeline.shrink_advice import advice, plan_lines
from skillsv.pipeline.shrink_plan import (
    FirstBatch,
    ShrinkGoal,
    first_batch_size,
    panel_size,
    plan_by_values,
    plan_shrink,
    read_first_batch,
    with_judge,
)

GOAL = ShrinkGoal(rollouts=800, gate=Gate(max_drop=0.05))
NOISY = FirstBatch(trigger=(0.0,) * 30, full=(1.0,) * 30, changed=(0.0,) * 3 + (1.0,) * 27, noisy=True)
STEADY = FirstBatch(trigger=(0.0,) * 30, full=(1.0,) * 30, changed=(1.0,) * 30, noisy=False)


@pytest.mark.parametrize(
    ("tasks", "rollouts", "size"), [(300, 800, 60), (120, 800, 40), (120, 400, 30), (79, 800, 20), (30, 800, 15)]
)
def test_panels_leave_enough_tasks_for_the_proof(tasks, rollouts, size):
    assert panel_size(tasks, ShrinkGoal(rollouts=rollouts, gate=GOAL.gate)) == size


def test_the_same_tasks_serve_values_and_proof():
    assert panel_size(30, ShrinkGoal(rollouts=600, gate=GOAL.gate, same_tasks=True)) == 30


@pytest.mark.parametrize("batch", [None, NOISY, STEADY])
def test_values_and_proof_stay_within_the_budget(batch):
    plan = plan_shrink(GOAL, 40, 120, batch)
    assert plan.estimate + plan.size.rollouts <= 800
    assert plan.measured is (batch is not None)


def test_a_steady_agent_gets_trials_instead_of_values_and_a_sure_proof():
    noisy, steady = (plan_shrink(GOAL, 60, 150, batch) for batch in (NOISY, STEADY))
    assert (noisy.trials, steady.estimate) == (0, 180)
    assert steady.estimate + steady.trials + steady.size.rollouts == 800
    assert (steady.size.pairs, steady.size.tasks) == (150, 150)
    assert steady.power == 1.0
    assert 0 < noisy.power < 1
    assert "for trials" in plan_lines(steady)[0]


def test_a_steady_agent_gets_a_second_set_only_where_enough_tasks_are_left():
    (first, look), (second, _) = GOAL.steady_claims(150)
    assert (1 - first.gate.level) + (1 - second.gate.level) == pytest.approx(0.05)
    assert 150 * (1 - look.share) >= second.gate.tasks_needed()
    ((only, _),) = GOAL.steady_claims(80)
    assert only.gate.level == pytest.approx(0.95)
    assert len(ShrinkGoal(rollouts=800, gate=GOAL.gate, same_tasks=True).steady_claims(150)) == 1


def test_a_proof_on_the_same_tasks_has_two_pairs_on_each():
    goal = ShrinkGoal(rollouts=600, gate=Gate(max_drop=0.1), same_tasks=True)
    assert plan_shrink(goal, 30, 30, STEADY).size.pairs >= 2 * 30


def test_too_few_tasks_leave_no_power_and_the_advice_names_what_helps():
    plan = plan_shrink(GOAL, 20, 30, NOISY)
    assert not plan.worthwhile
    text = advice(plan)
    assert "held-out tasks (now 30) together with --max-rollouts" in text
    assert "--same-tasks" in text
    assert "--max-drop" in text


def test_two_sets_share_the_error_rate():
    first, second = (claim.gate.level for claim in GOAL.claims(2))
    assert (1 - first) + (1 - second) == pytest.approx(0.05)
    (only,) = GOAL.claims(1)
    assert only.gate.level == pytest.approx(0.95)


def observation(compiled, task, score, *, full, change=0):
    return Observation(
        coalition=compiled.everything if full else frozenset({compiled.trigger}),
        operator=Operator.DELETE,
        task=task,
        replicate=change,
        score=score,
        why=AdaptiveReason.ANCHOR_FULL,
        null_change=change,
    )


def test_the_first_batch_reads_tasks_with_all_three_scores():
    compiled = sv.compile("# Facts\n\n- one\n- two\n").compiled
    found = [
        observation(compiled, task, score, full=full, change=change)
        for task, scores in {"a": (0.0, 1.0, 0.0), "b": (0.0, 1.0, 1.0), "c": (0.0, 1.0, None)}.items()
        for score, full, change in zip(scores, (False, True, True), (0, 0, 1), strict=True)
    ]
    batch = read_first_batch(compiled, found)
    assert (batch.trigger, batch.full, batch.changed) == ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    assert not batch.noisy


def test_observations_without_a_complete_task_do_not_make_the_agent_noisy():
    compiled = sv.compile("# Facts\n\n- one\n").compiled
    batch = read_first_batch(compiled, [observation(compiled, "t1", 1.0, full=True)])
    assert (batch.tasks, batch.noisy) == ((), False)


@pytest.mark.parametrize(("divide", "batch"), [(plan_shrink, STEADY), (plan_shrink, NOISY), (plan_by_values, STEADY)])
@pytest.mark.parametrize("asked", [0, 12, 120, 700])
def test_the_calls_of_a_judge_leave_the_first_batch_whole_and_the_total_within_the_budget(divide, batch, asked):
    plan = divide(GOAL, 40, 120, batch)
    judged = with_judge(plan, asked)
    assert judged.estimate - asked >= first_batch_size(40)
    assert judged.trials + judged.size.rollouts <= max(GOAL.rollouts - judged.estimate, 0)
    assert (judged == plan) is (plan.estimate - asked >= first_batch_size(40))
