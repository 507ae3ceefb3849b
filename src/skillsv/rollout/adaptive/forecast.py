"""What an adaptive run will cost, and the least that makes sense, before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.rollout.forecast import Forecast, PerRollout, cost_of

STEADY_EXTRA, NOISY_LEAST = 150, 2400
DEFAULT_STEADY, DEFAULT_NOISY = 1200, 4800


def least_budget(tasks: int, *, noisy: bool, operators: int = 1) -> int:
    """The fewest rollouts that say much about units: anchors and a few looks at each task, or a fit that holds."""
    anchors = tasks * (2 + operators)
    steady = anchors + operators * (3 * tasks + STEADY_EXTRA)
    return max(steady, operators * NOISY_LEAST) if noisy else steady


def forecast_adaptive(
    tasks: int,
    *,
    budget: int | None = None,
    operators: int = 1,
    per_rollout: PerRollout | None = None,
    jobs: int = 1,
) -> Forecast:
    """With a budget, that is the cost. Without one: a deterministic agent, the usual, and a noisy agent."""
    steady = max(least_budget(tasks, noisy=False, operators=operators), operators * DEFAULT_STEADY)
    noisy = max(steady, operators * DEFAULT_NOISY)
    levels = (budget, budget, budget) if budget is not None else (steady, steady, noisy)
    measured = per_rollout or PerRollout()
    low, expected, high = (cost_of(level, measured, jobs=jobs) for level in levels)
    return Forecast(low=low, expected=expected, high=high, method="auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A budget that is too small, in one sentence, and what to do."""

    message: str
    hint: str


def advise(budget: int, *, tasks: int, units: int, sections: int, operators: int = 1) -> Advice | None:
    """Says before spending that a budget is below the least sensible one; None where it suffices for any agent.

    `sections` is the number of units that `--granularity section` would leave.
    """
    steady = least_budget(tasks, noisy=False, operators=operators)
    noisy = least_budget(tasks, noisy=True, operators=operators)
    if budget >= noisy:
        return None
    if budget >= steady:
        return Advice(
            message=f"{budget:,} rollouts suffice for an agent that repeats itself; a noisy one needs {noisy:,}.",
            hint="If most verdicts stay open, run the same command with more rollouts: it goes on where it ended.",
        )
    coarse = max(tasks * (2 + operators) + operators * 8 * max(sections, 1), 1)
    return Advice(
        message=f"{budget:,} rollouts are too few for {units} units on {tasks} tasks; at least {steady:,} are needed.",
        hint=f"Give --max-rollouts {steady}, or a first look at {sections} units with --granularity section "
        f"for about {coarse:,} rollouts.",
    )
