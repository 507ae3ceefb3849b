"""Forecasts of what a run will cost, before it spends anything: rollouts, tokens, money and time. None is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.model.format import count
from skillsv.model.rollout import Usage
from skillsv.rollout.chain_repeats import most_repeats

GAMMA_LOW = 0.1
"""Share of intermediate prefixes that a chain evaluates before truncation, for a skill that saturates early."""

GAMMA_EXPECTED = 0.4
"""The same share for a usual skill. The paper measured about 0.2 on its skills; this is a cautious value."""

GAMMA_HIGH = 1.0
"""The same share without truncation."""

STEADY_EXTRA = 150
"""Rollouts that an adaptive run needs at least beyond anchors and three a task, if the agent is deterministic."""

NOISY_LEAST = 2400
"""Rollouts that an adaptive run needs at least, if the agent is noisy."""

DEFAULT_STEADY = 1200
"""Rollouts of an adaptive run without a budget, if the agent is deterministic."""

DEFAULT_NOISY = 4800
"""Rollouts of an adaptive run without a budget, if the agent is noisy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRollout:
    """The average usage and time of one rollout, measured by a probe or an earlier run. None is unknown."""

    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None

    @classmethod
    def measured(cls, rollouts: int, usage: Usage, seconds: float) -> PerRollout:
        """The average over so many rollouts, from their total usage and seconds; unknown without a rollout."""
        if rollouts < 1:
            return cls()
        input_tokens, output_tokens, usd = usage.input_tokens, usage.output_tokens, usage.usd
        average = Usage(
            input_tokens=None if input_tokens is None else round(input_tokens / rollouts),
            output_tokens=None if output_tokens is None else round(output_tokens / rollouts),
            usd=None if usd is None else usd / rollouts,
        )
        return cls(usage=average, seconds=seconds / rollouts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one scenario. `tokens` counts input and output."""

    rollouts: int
    tokens: int | None
    usd: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The cost of a cheap, a usual and an expensive run (for chains: early, usual and no truncation).

    Only for chains: `gammas` are the shares of prefixes that the three runs evaluate, `full_rollouts` is R_full of the
    paper, and `cost_ratio` is R / R_full of the usual run.
    """

    low: Cost
    expected: Cost
    high: Cost
    method: str = "chain"
    gammas: tuple[float, float, float] | None = None
    full_rollouts: int | None = None
    cost_ratio: float | None = None


def prefixes_per_order(n_units: int, gamma: float, operators: int) -> float:
    """Evaluated coalitions per order: 4 + 2 gamma (n - 2) for two operators, 3 + gamma (n - 2) for one.

    Anchors are the bare agent, the full skill and {m} once per operator; n counts the trigger m. With m alone the
    full skill is {m} under deletion, already an anchor.
    """
    if n_units <= 1:
        return float(1 + operators)
    return 2 + operators + operators * gamma * (n_units - 2)


def chain_rollouts(n_units: int, window: int, orders: int, operators: int, gamma: float) -> int:
    """R = K b [4 + 2 gamma (n - 2)] for two operators. With the whole panel as window and gamma 1 it is R_full."""
    return round(orders * window * prefixes_per_order(n_units, gamma, operators))


def forecast(
    n_units: int,
    window: int,
    orders: int,
    operators: Sequence[Operator],
    *,
    tasks: int = 0,
    noise_check: bool = False,
    gammas: tuple[float, float, float] = (GAMMA_LOW, GAMMA_EXPECTED, GAMMA_HIGH),
    per_rollout: PerRollout | None = None,
    jobs: int = 1,
) -> Forecast:
    """R = K b [4 + 2 gamma (n - 2)] for two operators, at three gammas; without a tolerance pass gammas (1, 1, 1).

    On a panel of so many `tasks` the anchors are scored on the tasks outside of the first window, too. `noise_check`
    adds the most that the repeats of the noise check cost.
    """
    if n_units < 1 or window < 1 or orders < 1 or not operators or jobs < 1:
        raise SettingsError("a forecast needs at least one unit, task, order, operator and job.")
    if not all(0.0 <= gamma <= 1.0 for gamma in gammas) or list(gammas) != sorted(gammas):
        raise SettingsError(f"the shares {gammas} are not three increasing numbers between 0 and 1.")
    measured = per_rollout or PerRollout()
    anchors = (3 if n_units > 1 else 2) * max(tasks - window, 0)
    chains = [chain_rollouts(n_units, window, orders, len(operators), gamma) for gamma in gammas]
    repeats = [most_repeats(rollouts, window, orders) if noise_check else 0 for rollouts in chains]
    low, expected, high = (
        cost_of(rollouts + anchors + more, measured, jobs=jobs) for rollouts, more in zip(chains, repeats, strict=True)
    )
    full = chain_rollouts(n_units, max(tasks, window), orders, len(operators), GAMMA_HIGH)
    return Forecast(
        low=low, expected=expected, high=high, gammas=gammas, full_rollouts=full, cost_ratio=chains[1] / full
    )


def cost_of(rollouts: int, measured: PerRollout, *, jobs: int) -> Cost:
    """The cost of so many rollouts at the measured averages, `jobs` of them at a time."""
    input_tokens, output_tokens = measured.usage.input_tokens, measured.usage.output_tokens
    known = input_tokens is not None or output_tokens is not None
    return Cost(
        rollouts=rollouts,
        tokens=rollouts * ((input_tokens or 0) + (output_tokens or 0)) if known else None,
        usd=None if measured.usage.usd is None else rollouts * measured.usage.usd,
        seconds=None if measured.seconds is None else rollouts * measured.seconds / min(jobs, max(rollouts, 1)),
    )


def least_budget(tasks: int, *, noisy: bool, operators: int = 1) -> int:
    """The fewest rollouts that an adaptive run needs: anchors and a few rollouts a task, or enough for a model fit.

    The first of the few is the full skill under a null change, which shows noise in the first batch.
    """
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
    """The cost of an adaptive run: the budget, or without one the usual cost for a deterministic and a noisy agent."""
    steady = max(least_budget(tasks, noisy=False, operators=operators), operators * DEFAULT_STEADY)
    noisy = max(steady, operators * DEFAULT_NOISY)
    levels = (budget, budget, budget) if budget is not None else (steady, steady, noisy)
    measured = per_rollout or PerRollout()
    low, expected, high = (cost_of(level, measured, jobs=jobs) for level in levels)
    return Forecast(low=low, expected=expected, high=high, method="auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Why a budget is too small, and what to do."""

    message: str
    hint: str


def advise(budget: int, *, tasks: int, units: int, sections: int, operators: int = 1) -> Advice | None:
    """Advice on a budget that is too small; None where it suffices for any agent.

    `sections` is the number of units that `--granularity section` would leave.
    """
    steady = least_budget(tasks, noisy=False, operators=operators)
    noisy = least_budget(tasks, noisy=True, operators=operators)
    if budget >= noisy:
        return None
    if budget >= steady:
        return Advice(
            message=f"{count(budget)} rollouts suffice for an agent that repeats itself; a noisy one needs "
            f"{count(noisy)}.",
            hint="A noisy agent is then asked on some of the tasks. If most verdicts stay open, run the same command "
            "with more rollouts: it goes on where it ended.",
        )
    coarse = max(tasks * (2 + operators) + operators * 8 * max(sections, 1), 1)
    return Advice(
        message=f"{count(budget)} rollouts are too few for {units} units on {tasks} tasks; at least "
        f"{count(steady)} are needed.",
        hint=f"Give --max-rollouts {steady}, or a first look at {sections} units with --granularity section "
        f"for about {count(coarse)} rollouts.",
    )
