"""Closure on planted games: the sum of values over the measured lift of the panel, for Algorithm 1 and for `auto`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.extend.estimators import estimate_chains, forecast_adaptive
from skillsv.model.format import with_bounds
from skillsv.model.value import Estimate, Interval
from skillsv_bench.estimators.arms import count_rollouts, run_adaptive
from skillsv_bench.planted import Noise, PlantedGame, SharedNoise, make_plans, record_chains
from skillsv_bench.planted.simulate import play_panel_anchors
from skillsv_bench.planted.studies import Setting

BAND = (0.9, 1.1)
"""Ratios of sum and lift that count as closed."""

LEVEL = 0.95
"""Confidence level of the interval of a mean over repetitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosureRow:
    """Closure of one method on one game, over repetitions that differ in their seed alone.

    `ratio` is the mean over runs of sum / lift with Student's t interval over repetitions (`low`, `high`). It leaves
    out `without_ratio` runs, whose measured lift is below the reporting resolution. `pooled` is the mean sum over the
    mean lift, and `gap` the mean of sum - lift with a t interval: small lifts do not distort these two. `exact` is the
    sum of the exact values over the exact lift. `covered` is the share of runs whose own interval of the gap covers
    zero. `lift` and `lift_spread` are the mean and the standard deviation of the measured lift.
    """

    agent: str
    method: str
    repetitions: int
    rollouts: float
    ratio: float | None
    low: float | None
    high: float | None
    pooled: float | None
    gap: float
    gap_low: float
    gap_high: float
    exact: float | None
    covered: float
    without_ratio: int
    lift: float
    lift_spread: float

    @property
    def inside(self) -> bool:
        """Whether the mean ratio is within the band."""
        return self.ratio is not None and BAND[0] <= self.ratio <= BAND[1]


@dataclass(frozen=True, slots=True)
class _Run:
    rollouts: int
    estimate: Estimate


def measure_closure(
    game: PlantedGame, settings: Sequence[Setting], *, repetitions: int, seed: int
) -> Iterator[ClosureRow]:
    """Measure closure of both methods for every setting; the adaptive method reads the noise of a setting alone."""
    methods: dict[str, Callable[[PlantedGame, Setting, int], _Run]] = {"chain": _run_chains, "auto": _run_auto}
    for setting in settings:
        for method, play in methods.items():
            runs = [play(game, setting, seed + number) for number in range(repetitions)]
            yield _row(game, setting.noise, method, runs)


def _run_chains(game: PlantedGame, setting: Setting, seed: int) -> _Run:
    """Algorithm 1, and the anchors on the panel. With noise every chain has a replicate, so noise, of its own."""
    rng = np.random.default_rng([seed, 5])
    noise, first = setting.noise, SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=setting.tolerance)
    if noise == Noise():
        records = record_chains(game, plans, noise=noise, shared_noise=first)
    else:
        replicates = [first, *(SharedNoise.draw(game, rng) for _ in plans[1:])]
        records = [
            record_chains(game, [replace(plan, replicate=plan.index)], noise=noise, shared_noise=own)[0]
            for plan, own in zip(plans, replicates, strict=True)
        ]
    panel = play_panel_anchors(game, noise=noise, shared_noise=first)
    rollouts = count_rollouts(records) if noise == Noise() else sum(count_rollouts([record]) for record in records)
    return _Run(rollouts, estimate_chains(game.compiled, records, panel=panel))


def _run_auto(game: PlantedGame, setting: Setting, seed: int) -> _Run:
    """The adaptive method with its default budget, which is larger once the agent has proved noisy."""
    forecast = forecast_adaptive(len(game.tasks))
    budget = forecast.expected.rollouts
    run = run_adaptive(game, setting.noise, seed, budget)
    if run.record.noisy and forecast.high.rollouts > budget:
        budget = forecast.high.rollouts
        run = run_adaptive(game, setting.noise, seed, budget)
    answer = run.at(budget)
    assert answer.estimate is not None
    return _Run(answer.rollouts, answer.estimate)


def _row(game: PlantedGame, noise: Noise, method: str, runs: Sequence[_Run]) -> ClosureRow:
    closures = [run.estimate.closure for run in runs]
    ratios = [closure.ratio for closure in closures if closure.ratio is not None]
    mean = _mean_interval(ratios) if len(ratios) > 1 else None
    gap = _mean_interval([closure.sum.value - closure.lift.value for closure in closures])
    sums, lifts = (np.array([getattr(row, name).value for row in closures]) for name in ("sum", "lift"))
    return ClosureRow(
        agent=noise.agent,
        method=method,
        repetitions=len(runs),
        rollouts=float(np.mean([run.rollouts for run in runs])),
        ratio=None if mean is None else mean.value,
        low=None if mean is None else mean.low,
        high=None if mean is None else mean.high,
        pooled=float(sums.mean() / lifts.mean()) if lifts.mean() else None,
        gap=gap.value,
        gap_low=gap.low,
        gap_high=gap.high,
        exact=_exact_ratio(game, noise),
        covered=float(np.mean([closure.covered for closure in closures])),
        without_ratio=len(runs) - len(ratios),
        lift=float(lifts.mean()),
        lift_spread=float(lifts.std(ddof=1)),
    )


def _mean_interval(values: Sequence[float]) -> Interval:
    """The mean with Student's t interval."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    half = float(stdtrit(len(values) - 1, 0.5 + LEVEL / 2)) * error
    return Interval(mean, mean - half, mean + half)


def _exact_ratio(game: PlantedGame, noise: Noise) -> float | None:
    """The sum of the exact values over the exact lift of the panel; None where the lift is zero."""
    ends = game.column_mask([game.compiled.everything, frozenset({game.compiled.trigger})])
    full, trigger = game.chances(ends, noise).mean(axis=1).tolist()
    return float(game.truth(noise).sum()) / (full - trigger) if full != trigger else None


def summarize(rows: Sequence[tuple[str, ClosureRow]]) -> str:
    """Which games and methods miss the band, and why, in one line. `rows` come with the names of their games."""
    outside = [f"{_name(game, row)} ({_explain_miss(row)})" for game, row in rows if not row.inside]
    wide = [_name(game, row) for game, row in rows if row.inside and not _holds(BAND, row)]
    band = f"{BAND[0]:g} to {BAND[1]:g}"
    if not outside:
        text = f"Every mean ratio is within {band}."
    else:
        text = f"Mean ratio outside {band}: {'; '.join(outside)}. The other {len(rows) - len(outside)} are within it."
    return text if not wide else f"{text} Within it, but with an interval that reaches outside: {', '.join(wide)}."


def _name(game: str, row: ClosureRow) -> str:
    return f"{game} {row.agent} {row.method}"


def _holds(band: tuple[float, float], row: ClosureRow) -> bool:
    """Whether the whole interval of the mean ratio is within the band."""
    return row.low is not None and row.high is not None and band[0] <= row.low and row.high <= band[1]


def _explain_miss(row: ClosureRow) -> str:
    """Why the mean ratio of a row is outside the band, by its own figures."""
    if row.ratio is None:
        return "fewer than two runs measured a lift above the resolution"
    gap = f"sum minus lift {with_bounds(Interval(row.gap, row.gap_low, row.gap_high))} points"
    lift = f"lift {100 * row.lift:.1f} ± {100 * row.lift_spread:.1f}"
    if row.gap_low <= 0.0 <= row.gap_high:
        return f"{row.ratio:.3f}; no bias shown, but the lift is small for the spread: {gap}, {lift}"
    return f"{row.ratio:.3f}; a bias: {gap}, {lift}"
