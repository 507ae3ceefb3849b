"""What a run will cost, before it costs anything: rollouts, tokens, money, time; unknown stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.model.rollout import Usage

GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH = 0.1, 0.4, 1.0
"""Shares of intermediate prefixes that survive truncation: a skill that saturates early, a usual one, no truncation.

The paper measured about 0.2 on its own skills; our expected value is on the careful side of that.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRollout:
    """What one rollout takes, as measured by a probe or an earlier run. None is unknown."""

    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None

    @classmethod
    def measured(cls, rollouts: int, usage: Usage, seconds: float) -> PerRollout:
        """The average of so many rollouts, of a probe or of all that a ledger holds; with none, all is unknown."""
        if rollouts < 1:
            return cls()
        given, taken, usd = usage.input_tokens, usage.output_tokens, usage.usd
        average = Usage(
            input_tokens=None if given is None else round(given / rollouts),
            output_tokens=None if taken is None else round(taken / rollouts),
            usd=None if usd is None else usd / rollouts,
        )
        return cls(usage=average, seconds=seconds / rollouts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One scenario. `tokens` counts both directions."""

    rollouts: int
    tokens: int | None
    usd: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The cost if truncation bites early, as usual, or never."""

    low: Cost
    expected: Cost
    high: Cost
    method: str = "chain"


def prefixes_per_order(n_units: int, gamma: float, operators: int) -> float:
    """Evaluated coalitions per order: 4 + 2 gamma (n - 2) for two operators, 3 + gamma (n - 2) for one.

    Anchors are the bare agent, the full skill and {m} once per operator; n counts the trigger m. With m alone the
    full skill is {m} under deletion, already an anchor.
    """
    if n_units <= 1:
        return float(1 + operators)
    return 2 + operators + operators * gamma * (n_units - 2)


def forecast(
    n_units: int,
    window: int,
    orders: int,
    operators: Sequence[Operator],
    *,
    gammas: tuple[float, float, float] = (GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH),
    per_rollout: PerRollout | None = None,
    jobs: int = 1,
) -> Forecast:
    """R = K b [4 + 2 gamma (n - 2)] for two operators, at three gammas; without a tolerance pass gammas (1, 1, 1)."""
    if n_units < 1 or window < 1 or orders < 1 or not operators or jobs < 1:
        raise SettingsError("a forecast needs at least one unit, task, order, operator and job.")
    if not all(0.0 <= gamma <= 1.0 for gamma in gammas) or list(gammas) != sorted(gammas):
        raise SettingsError(f"the shares {gammas} are not three rising numbers between 0 and 1.")
    measured = per_rollout or PerRollout()
    low, expected, high = (
        cost_of(round(orders * window * prefixes_per_order(n_units, gamma, len(operators))), measured, jobs=jobs)
        for gamma in gammas
    )
    return Forecast(low=low, expected=expected, high=high)


def cost_of(rollouts: int, measured: PerRollout, *, jobs: int) -> Cost:
    """So many rollouts at the measured price, `jobs` of them at a time."""
    given, taken = measured.usage.input_tokens, measured.usage.output_tokens
    known = given is not None or taken is not None
    return Cost(
        rollouts=rollouts,
        tokens=rollouts * ((given or 0) + (taken or 0)) if known else None,
        usd=None if measured.usage.usd is None else rollouts * measured.usage.usd,
        seconds=None if measured.seconds is None else rollouts * measured.seconds / min(jobs, max(rollouts, 1)),
    )


# What an adaptive run will cost, and the least that makes sense, before anything is spent.

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
