"""What a plan of a shrink says: what the budget proves, and what would help. Every number is that of a plan. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from skillsv.confirmation.power import LARGEST_DROP, LEAST_POWER, WANTED_POWER
from skillsv.model.format import count, percent, plural, short_points
from skillsv.pipeline.shrink_plan import ShrinkGoal, ShrinkPlan, panel_size, plan_by_values, plan_shrink

FINE_DROP = 0.02
"""The drop of a demanding reader: what it would need is said beside what was asked for."""

MOST_ROLLOUTS = 400_000
"""Rollouts above which the search for a sufficient budget ends."""

BUDGET_STEP = 1.02
"""Ratio of the budgets that are searched: a larger one names more rollouts than are needed."""

TASK_STEPS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Numbers of held-out tasks that are searched, in least numbers of a proof without noise."""

MUCH_ABOVE = 2.0
"""Ratio to the smallest budget up to which fewer tasks are preferred."""

DROP_STEP = 0.005
"""Steps of the drops that are searched: half a point."""

TRIALS_OF_TASK = 2
"""Rollouts of trials on each task that a sufficient budget has: one for the last set, one for the search."""


def odds(power: float) -> str:
    """A chance as percent. One that is less than even never reads as even."""
    text = percent(power)
    if power < LEAST_POWER and text == percent(LEAST_POWER):
        return f"{math.floor(1000 * power) / 10:.1f}%"
    return text


def plan_lines(plan: ShrinkPlan) -> list[str]:
    """What can be proven with the budget, in sentences."""
    goal, size = plan.goal, plan.size
    drop, what = short_points(goal.gate.max_drop), "measured" if plan.measured else "usual"
    where = "these tasks" if goal.same_tasks else plural(size.tasks, "held-out task")
    trials = f", at most {count(plan.trials)} for trials" if plan.trials else ""
    first = (
        f"Of {count(goal.rollouts)} rollouts about {count(plan.estimate)} are for values{trials} and "
        f"{count(size.rollouts)} for the proof on {where}: with the {what} noise of the agent they show a skill "
        f"that loses nothing to be within {drop} points with {odds(plan.power)} power."
    )
    return [first, *_fine_line(plan)]


def _fine_line(plan: ShrinkPlan) -> Iterator[str]:
    """What a limit of 2 points would need."""
    if plan.goal.gate.max_drop <= FINE_DROP:
        return
    fine = replace(plan.goal, gate=replace(plan.goal.gate, max_drop=FINE_DROP))
    found = _sufficient(plan, fine)
    if found is None:
        return
    rollouts, held_out = found
    tasks = "" if held_out <= plan.held_out else f" and {count(held_out)} held-out tasks (now {count(plan.held_out)})"
    yield (
        f"Within {short_points(FINE_DROP)} points would need about {count(rollouts)} rollouts{tasks}, for "
        f"{percent(WANTED_POWER)} power."
    )


def advice(plan: ShrinkPlan, agents: int = 1) -> str:
    """What would help where the power is too small, as a sentence; a budget is that of so many agents."""
    return f"Each of these alone would help: {'; '.join(would_help(plan, agents))}. --keep-going tries it nevertheless."


def before_first_batch(helpful: str) -> str:
    """What a forecast of low odds means before anything is measured."""
    return (
        "With the usual noise that is less than even odds. The first batch measures the noise of the agent and "
        f"decides: with even odds or better the shrink goes on by itself, else it ends there. {helpful}"
    )


def would_help(plan: ShrinkPlan, agents: int = 1) -> list[str]:
    """What would help where the power is too small: flags and numbers of tasks, each of which suffices alone."""
    options = [*_more(plan, agents), *_larger_drop(plan)]
    same, tasks = replace(plan.goal, same_tasks=True), plan.panel_a + plan.held_out
    if not plan.goal.same_tasks and replan(plan, same, tasks, tasks).worthwhile:
        options.append("--same-tasks, which proves it on these tasks alone")
    return options or ["more tasks and more rollouts"]


def _more(plan: ShrinkPlan, agents: int) -> Iterator[str]:
    found = _sufficient(plan, plan.goal)
    if found is None:
        return
    rollouts, held_out = found
    parts = []
    if held_out > plan.held_out:
        parts.append(f"at least {held_out} held-out tasks (now {plan.held_out})")
    if rollouts > plan.goal.rollouts:
        parts.append(f"--max-rollouts {agents * rollouts}")
    if parts:
        yield " together with ".join(parts)


def _larger_drop(plan: ShrinkPlan) -> Iterator[str]:
    steps = math.floor(plan.goal.gate.max_drop / DROP_STEP + 1e-9)
    for step in range(steps + 1, round(LARGEST_DROP / DROP_STEP) + 1):
        goal = replace(plan.goal, gate=replace(plan.goal.gate, max_drop=round(step * DROP_STEP, 3)))
        if all(other.worthwhile for other in _with_goal(plan, goal, plan.held_out)):
            yield f"--max-drop {short_points(goal.gate.max_drop)}"
            return


def _sufficient(plan: ShrinkPlan, goal: ShrinkGoal) -> tuple[int, int] | None:
    """A budget, at least the present one, and a number of held-out tasks that suffice for the goal.

    The fewest tasks whose budget is not much above the smallest one: at the least number of a proof no score may fall.
    """
    least = goal.gate.tasks_needed()
    more = [] if goal.same_tasks else [math.ceil(step * least) for step in TASK_STEPS]
    numbers = (plan.held_out, *(tasks for tasks in more if tasks > plan.held_out))
    found = [(rollouts, held_out) for held_out in numbers if (rollouts := _least_rollouts(plan, goal, held_out))]
    affordable = MUCH_ABOVE * min((rollouts for rollouts, _ in found), default=0)
    return next(((rollouts, held_out) for rollouts, held_out in found if rollouts <= affordable), None)


def _least_rollouts(plan: ShrinkPlan, goal: ShrinkGoal, held_out: int) -> int | None:
    """The smallest budget that suffices with so many held-out tasks; None where there is none."""
    rollouts = goal.rollouts
    while rollouts <= MOST_ROLLOUTS:
        plans = _with_goal(plan, replace(goal, rollouts=rollouts), held_out)
        if all(map(_suffices, plans)):
            return rollouts
        rollouts = max(rollouts + 1, math.ceil(BUDGET_STEP * rollouts))
    return None


def _suffices(plan: ShrinkPlan) -> bool:
    enough = not plan.by_trials or plan.trials >= TRIALS_OF_TASK * plan.panel_a
    return enough and plan.power >= WANTED_POWER


def _with_goal(plan: ShrinkPlan, goal: ShrinkGoal, held_out: int) -> Iterator[ShrinkPlan]:
    """The plan for another goal: with the present panels, and with those that a new run folder would have."""
    yield replan(plan, goal, plan.panel_a, held_out)
    if not goal.same_tasks:
        tasks = plan.panel_a + held_out
        size = panel_size(tasks, goal)
        yield replan(plan, goal, size, tasks - size)


def replan(plan: ShrinkPlan, goal: ShrinkGoal, panel_a: int, held_out: int) -> ShrinkPlan:
    """The plan for another goal and other numbers of tasks, with the noise that is known."""
    if plan.by_values and plan.batch is not None:
        return plan_by_values(goal, panel_a, held_out, plan.batch)
    return plan_shrink(goal, panel_a, held_out, plan.batch)
