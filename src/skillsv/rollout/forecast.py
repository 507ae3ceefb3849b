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
