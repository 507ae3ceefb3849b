"""Whatever number a sentence about a plan names, the plan with that number reaches what the sentence promises."""

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.confirmation import Gate
from skillsv.pipeline.shrink_advice import FINE_DROP, advice, before_first_batch, odds, plan_lines, replan, would_help
from skillsv.pipeline.shrink_plan import FirstBatch, ShrinkGoal, panel_size, plan_shrink

NOISY = FirstBatch(trigger=(0.0,) * 30, full=(1.0,) * 30, changed=(0.0,) * 3 + (1.0,) * 27, noisy=True)
STEADY = FirstBatch(trigger=(0.0,) * 30, full=(1.0,) * 30, changed=(1.0,) * 30, noisy=False)


def make_plan(tasks, rollouts, drop, *, same_tasks=False, batch=None):
    goal = ShrinkGoal(rollouts=rollouts, gate=Gate(max_drop=drop), same_tasks=same_tasks)
    size = panel_size(tasks, goal)
    return plan_shrink(goal, size, tasks if same_tasks else tasks - size, batch)


def numbers(text, flag):
    found = re.search(flag, text.replace(",", ""))
    return None if found is None else float(found[1])


@settings(deadline=None, max_examples=60)
@given(
    tasks=st.integers(2, 400),
    rollouts=st.integers(1, 4000),
    drop=st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.2]),
    same_tasks=st.booleans(),
    batch=st.sampled_from([None, NOISY, STEADY]),
)
def test_a_plan_with_the_named_numbers_keeps_the_promise(tasks, rollouts, drop, same_tasks, batch):
    plan = make_plan(tasks, rollouts, drop, same_tasks=same_tasks, batch=batch)
    for line in plan_lines(plan)[1:]:
        held_out = numbers(line, r"(\d+) held-out") or plan.held_out
        goal = replace(plan.goal, rollouts=int(numbers(line, r"(\d+) rollouts")), gate=Gate(max_drop=FINE_DROP))
        assert replan(plan, goal, plan.panel_a, int(held_out)).power >= 0.8
    if plan.worthwhile:
        return
    for option in would_help(plan):
        if option == "more tasks and more rollouts":  # no number within the limits of the search suffices
            continue
        named = numbers(option, r"--max-rollouts (\d+)") or rollouts
        assert named >= rollouts
        allowed = (numbers(option, r"--max-drop ([\d.]+)") or 100 * drop) / 100
        held_out = int(numbers(option, r"at least (\d+) held-out") or plan.held_out)
        goal = replace(plan.goal, rollouts=int(named), gate=Gate(max_drop=allowed))
        panel_a = plan.panel_a
        if "--same-tasks" in option:
            goal, panel_a, held_out = replace(goal, same_tasks=True), tasks, tasks
        assert replan(plan, goal, panel_a, held_out).worthwhile
        if held_out == plan.held_out:
            assert make_plan(tasks, goal.rollouts, allowed, same_tasks=goal.same_tasks, batch=batch).worthwhile


def test_a_limit_of_two_points_names_tasks_where_they_are_missing():
    _, fine = plan_lines(make_plan(150, 800, 0.05))
    assert "held-out tasks (now 110)" in fine


def test_too_few_tasks_and_too_few_rollouts_are_one_option():
    first, *_ = would_help(make_plan(40, 100, 0.05, batch=NOISY))
    assert re.fullmatch(r"at least \d+ held-out tasks \(now 20\) together with --max-rollouts \d+", first)


def test_a_steady_agent_without_rollouts_for_trials_is_told_a_budget_that_has_some():
    plan = make_plan(150, 208, 0.05, batch=STEADY)
    assert not plan.worthwhile
    named = numbers(would_help(plan)[0], r"--max-rollouts (\d+)")
    assert make_plan(150, int(named), 0.05, batch=STEADY).trials >= 60


def test_less_than_even_odds_never_read_as_even():
    assert [odds(chance) for chance in (0.4999, 0.496, 0.5, 0.43)] == ["49.9%", "49.6%", "50%", "43%"]


def test_a_low_forecast_says_that_the_first_batch_decides():
    text = before_first_batch(advice(make_plan(150, 800, 0.02)))
    assert "The first batch measures the noise" in text
    assert "goes on by itself" in text
    assert "Each of these alone would help" in text
