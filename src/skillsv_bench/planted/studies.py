"""Studies of the estimator on planted games: recovery, coverage, bias, window size, truncation.

Every study takes seeds and gives plain rows, so that the command line, the tests and the documentation show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from skillsv.extend.comparison import closure_loo, closure_loo_requests, random_ranking
from skillsv.extend.estimators import EstimateOptions, estimate_chains, ranking_of
from skillsv.model.value import Estimate, Interval, Ranking, UnitValue
from skillsv_bench.planted.game import Floats, Noise, PlantedGame, Role
from skillsv_bench.planted.generate import planted_skill
from skillsv_bench.planted.simulate import (
    SharedNoise,
    answer_requests,
    as_columns,
    make_plans,
    play_panel_anchors,
    record_chains,
    scores_along,
    simulate,
)

_SLACK = 1e-12
"""A difference that counts as rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Algorithm 1's settings on a planted game, and the agent's noise."""

    chains: int = 12
    window: int = 8
    tolerance: float | None = 0.05
    noise: Noise = field(default_factory=Noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """True values beside what each method recovered, on one game."""

    game: PlantedGame
    truth: Floats
    estimate: Estimate
    rankings: tuple[Ranking, ...]

    def role(self, unit: str) -> Role:
        """Return the role that the unit was planted with."""
        return self.game.role_of[unit]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScore:
    """How well one method recovered the truth: error over the spread of the true values, rank correlation, sum."""

    method: str
    rmse_over_sd: float
    spearman: float
    sum_over_lift: float | None


def recover(game: PlantedGame, setting: Setting, seed: int) -> Recovery:
    """Run SkillSV, Closure-LOO (on the whole panel) and random on one planted game."""
    rng = np.random.default_rng(seed)
    shared_noise = SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=setting.tolerance)
    estimate = estimate_chains(
        game.compiled,
        record_chains(game, plans, noise=setting.noise, shared_noise=shared_noise),
        panel=play_panel_anchors(game, noise=setting.noise, shared_noise=shared_noise),
    )
    tasks = [task.id for task in game.tasks]
    requests = closure_loo_requests(game.compiled, tasks)
    left_out = closure_loo(
        game.compiled, tasks, answer_requests(game, requests, noise=setting.noise, shared_noise=shared_noise)
    )
    rankings = (ranking_of(estimate), left_out, random_ranking(game.compiled, rng))
    return Recovery(game=game, truth=game.truth(setting.noise), estimate=estimate, rankings=rankings)


def score_methods(recovery: Recovery) -> tuple[MethodScore, ...]:
    """One row per method."""
    return tuple(_score(recovery, ranking) for ranking in recovery.rankings)


def _score(recovery: Recovery, ranking: Ranking) -> MethodScore:
    from scipy.stats import spearmanr  # type: ignore[import-untyped]

    units = recovery.game.compiled.execution
    values, truth = np.array([ranking.values[unit].value for unit in units]), recovery.truth
    lift = float(truth.sum())
    return MethodScore(
        method=ranking.method,
        rmse_over_sd=float(np.sqrt(np.mean((values - truth) ** 2)) / truth.std()),
        spearman=float(spearmanr(values, truth).statistic) if np.ptp(values) > 0 else 0.0,
        sum_over_lift=float(values.sum()) / lift if abs(lift) > _SLACK else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often 95 % intervals hold the exact value, in shares of units (or runs, for the sum)."""

    chains: int
    honest: float
    nonzero: float
    plain: float
    closure: float
    repetitions: int


def coverage(
    kind: str, setting: Setting, *, games: Sequence[int], repetitions: int, chains: Sequence[int] = (12, 24, 48)
) -> tuple[Coverage, ...]:
    """Coverage of the honest interval and of the plain bootstrap, `repetitions` runs on each game of the seeds."""
    hits: dict[int, list[tuple[npt.NDArray[np.bool_], ...]]] = {count: [] for count in chains}
    for seed in games:
        game, rng = planted_skill(kind, seed), np.random.default_rng([seed, 1])
        truth = game.truth(setting.noise)
        for _ in range(repetitions):
            plans = make_plans(game, rng, chains=max(chains), window=setting.window, tolerance=setting.tolerance)
            records = record_chains(game, plans, noise=setting.noise, shared_noise=SharedNoise.draw(game, rng))
            for count in chains:
                options = EstimateOptions(seed=int(rng.integers(2**31)))
                hits[count].append(_hits(estimate_chains(game.compiled, records[:count], options), truth))
    return tuple(_coverage(count, rows) for count, rows in hits.items())


def _hits(estimate: Estimate, truth: Floats) -> tuple[npt.NDArray[np.bool_], ...]:
    honest = _covered([unit.on_panel for unit in estimate.units], truth)
    plain = _covered([paper_interval(unit) for unit in estimate.units], truth)
    closed = _covered([estimate.closure.sum], truth.sum(keepdims=True))
    return honest, honest[np.abs(truth) > _SLACK], plain, closed


def paper_interval(unit: UnitValue) -> Interval:
    """The paper's bootstrap interval of a unit; it counts a unit that no chain tested as zero."""
    return unit.plain or Interval(0.0, 0.0, 0.0)


def _covered(intervals: Sequence[Interval], truth: Floats) -> npt.NDArray[np.bool_]:
    rows = zip(intervals, truth.tolist(), strict=True)
    return np.array([row.low - _SLACK <= value <= row.high + _SLACK for row, value in rows], dtype=np.bool_)


def _coverage(count: int, rows: list[tuple[npt.NDArray[np.bool_], ...]]) -> Coverage:
    honest, nonzero, plain, closed = (float(np.concatenate(part).mean()) for part in zip(*rows, strict=True))
    return Coverage(chains=count, honest=honest, nonzero=nonzero, plain=plain, closure=closed, repetitions=len(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """The mean estimate of one unit over many repetitions, with its standard error, beside the truth."""

    unit: str
    truth: float
    mean: float
    standard_error: float


def bias(game: PlantedGame, setting: Setting, *, repetitions: int, seed: int) -> tuple[Bias, ...]:
    """Measure the bias of every unit's estimate: zero without truncation, and the cost of truncation with it."""
    rng = np.random.default_rng(seed)
    means = np.array([_run(game, setting, rng).mean(axis=0) for _ in range(repetitions)])
    errors = means.std(axis=0, ddof=1) / np.sqrt(repetitions)
    rows = zip(game.compiled.execution, game.truth(setting.noise), means.mean(axis=0), errors, strict=True)
    return tuple(
        Bias(unit=unit, truth=float(truth), mean=float(mean), standard_error=float(error))
        for unit, truth, mean, error in rows
    )


def _run(game: PlantedGame, setting: Setting, rng: np.random.Generator) -> Floats:
    """Marginals of one run, [chains, units]."""
    orders, windows = _draws(game, setting, rng)
    shared_noise = SharedNoise.draw(game, rng)
    return simulate(
        game, orders, windows, noise=setting.noise, shared_noise=shared_noise, tolerance=setting.tolerance
    ).change


def _draws(
    game: PlantedGame, setting: Setting, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=None)
    number = {task.id: place for place, task in enumerate(game.tasks)}
    windows = np.array([[number[task] for task in plan.window.tasks] for plan in plans], dtype=np.int64)
    return as_columns(game, [plan.order for plan in plans]), windows


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowVariance:
    """Variance of one chain's marginals (mean over units): both sides on the same tasks, or on independent ones."""

    window: int
    paired: float
    unpaired: float


def variance_by_window(
    game: PlantedGame, noise: Noise, *, windows: Sequence[int], chains: int, seed: int
) -> tuple[WindowVariance, ...]:
    """The paper's variance figure. With the whole panel as window both designs are the same, which is a check."""
    rows = []
    for size in windows:
        rng = np.random.default_rng([seed, size])
        setting = Setting(chains=chains, window=size, noise=noise)
        shared_noise = SharedNoise.draw(game, rng)
        orders, first = _draws(game, setting, rng)
        other = _draws(game, setting, rng)[1]
        after = scores_along(game, orders, first, noise=noise, shared_noise=shared_noise).mean(axis=2)
        before = scores_along(game, orders, other, noise=noise, shared_noise=shared_noise).mean(axis=2)
        rows.append(
            WindowVariance(
                window=size,
                paired=_mean_variance(orders, np.diff(after, axis=1)),
                unpaired=_mean_variance(orders, after[:, 1:] - before[:, :-1]),
            )
        )
    return tuple(rows)


def _mean_variance(orders: npt.NDArray[np.int64], steps: Floats) -> float:
    change = np.empty_like(steps)
    np.put_along_axis(change, orders, steps, axis=1)
    return float(change.var(axis=0, ddof=1).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One setting of (b, tau): error, bias and cost, averaged over games and repetitions."""

    window: int
    tolerance: float | None
    rmse_over_sd: float
    bias_over_sd: float
    rollouts: float


def calibrate(
    make_game: Callable[[int], PlantedGame],
    noise: Noise,
    *,
    windows: Sequence[int],
    tolerances: Sequence[float | None],
    games: Sequence[int],
    repetitions: int,
    chains: int = 12,
) -> tuple[Calibration, ...]:
    """Window size and tolerance judged together, on planted games: the paper's calibration of (b, tau)."""
    all_games = [make_game(seed) for seed in games]
    truths = [game.truth(noise) for game in all_games]
    rows = []
    for size in windows:
        for tolerance in tolerances:
            setting = Setting(chains=chains, window=size, tolerance=tolerance, noise=noise)
            measurements = [
                _calibrate_game(game, truth, setting, np.random.default_rng([seed, size]), repetitions)
                for seed, game, truth in zip(games, all_games, truths, strict=True)
            ]
            error, shift, cost = np.mean(measurements, axis=0).tolist()
            rows.append(
                Calibration(window=size, tolerance=tolerance, rmse_over_sd=error, bias_over_sd=shift, rollouts=cost)
            )
    return tuple(rows)


def _calibrate_game(
    game: PlantedGame, truth: Floats, setting: Setting, rng: np.random.Generator, repetitions: int
) -> tuple[float, float, float]:
    """RMSE and bias over the spread of the truth, and the rollouts of deletion chains (three anchors each)."""
    estimates, cost = [], 0.0
    for _ in range(repetitions):
        orders, windows = _draws(game, setting, rng)
        shared_noise = SharedNoise.draw(game, rng)
        played = simulate(
            game, orders, windows, noise=setting.noise, shared_noise=shared_noise, tolerance=setting.tolerance
        )
        estimates.append(played.change.mean(axis=0))
        cost += float((played.evaluated + 3).sum()) * setting.window / repetitions
    means = np.array(estimates)
    error = float(np.sqrt(np.mean((means - truth) ** 2)))
    # The squared mean of a few repetitions holds their variance too; what is left is the bias.
    shift = np.mean((means.mean(axis=0) - truth) ** 2 - means.var(axis=0, ddof=1) / repetitions)
    return error / float(truth.std()), float(np.sqrt(max(shift, 0.0))) / float(truth.std()), cost
