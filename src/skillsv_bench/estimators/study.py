"""The comparison: games of four shapes, five kinds of noise, every method, with standard errors over games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.extend.estimators import AdaptiveOptions, MaxRollouts
from skillsv.model.coalition import Operator
from skillsv.model.value import Estimate, Evidence, UnitValue
from skillsv_bench.estimators import arms
from skillsv_bench.estimators.arms import Answer, Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill
from skillsv_bench.planted.game import Floats
from skillsv_bench.planted.studies import paper_interval

SLACK = 1e-9
"""A difference that counts as rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One answer against the truth. Coverage and decisions are None for methods that give no intervals.

    `decided` counts units with a verdict on the sign or on being about zero, `false` those verdicts that are wrong.
    """

    arm: str
    rollouts: int
    error: float
    spearman: float
    covered: float | None = None
    plain: float | None = None
    decided: int = 0
    false: int = 0
    units: int = 0


def judge(answer: Answer, truth: Floats) -> Quality:
    """Compare one answer with the true values."""
    estimate = answer.estimate
    covered = plain = None
    decided = false = 0
    if estimate is not None:
        covered = _covered(estimate.units, truth)
        if any(unit.plain is not None for unit in estimate.units):
            plain = _covered(estimate.units, truth, plain=True)
        decided, false = count_decisions(estimate, truth)
    return Quality(
        arm=answer.arm,
        rollouts=answer.rollouts,
        error=error_over_spread(answer.values, truth),
        spearman=rank_correlation(answer.values, truth),
        covered=covered,
        plain=plain,
        decided=decided,
        false=false,
        units=len(truth),
    )


def error_over_spread(values: Floats, truth: Floats) -> float:
    """RMSE over the spread of the true values: 1 is what the constant scores that knows the lift."""
    return float(np.sqrt(np.mean((values - truth) ** 2)) / truth.std())


def rank_correlation(values: Floats, truth: Floats) -> float:
    """Spearman's rho; zero where a method calls all units alike."""
    from scipy.stats import spearmanr  # type: ignore[import-untyped]

    return float(spearmanr(values, truth).statistic) if np.ptp(values) > 0 else 0.0


def _covered(units: Sequence[UnitValue], truth: Floats, *, plain: bool = False) -> float:
    intervals = (paper_interval(unit) if plain else unit.on_panel for unit in units)
    covered = [
        interval.low - SLACK <= value <= interval.high + SLACK for interval, value in zip(intervals, truth, strict=True)
    ]
    return float(np.mean(covered))


def count_decisions(estimate: Estimate, truth: Floats) -> tuple[int, int]:
    """The number of units with a verdict on their sign or on being about zero, and how many of these are wrong."""
    decided = false = 0
    for unit, value in zip(estimate.units, truth.tolist(), strict=True):
        wrong = {
            Evidence.POSITIVE: value <= SLACK,
            Evidence.NEGATIVE: value >= -SLACK,
            Evidence.NEGLIGIBLE: abs(value) > estimate.resolution,
            Evidence.IDLE: abs(value) > estimate.resolution,
            Evidence.EXPENDABLE: value > estimate.resolution,
        }
        if unit.evidence in wrong:
            decided += 1
            false += wrong[unit.evidence]
    return decided, false


def rollouts_to_reach(target: float, budgets: Sequence[int], errors: Sequence[float]) -> float | None:
    """The rollouts at which a falling error curve first meets the target, between two budgets on the log scale."""
    for place, error in enumerate(errors):
        if error <= target:
            if place == 0:
                return float(budgets[0])
            share = (errors[place - 1] - target) / (errors[place - 1] - error)
            return float(budgets[place - 1] * (budgets[place] / budgets[place - 1]) ** share)
    return None


TUNING_SEEDS = range(1000)
"""Games that constants were chosen on. Nothing reported comes from them."""

TEST_SEEDS = range(2_000_000, 2_001_000)
"""Games that figures are reported on. When a figure leads to a change of a constant, take a fresh range here."""

SHAPES = ("livemath", "officeqa", "spreadsheet", "alfworld")
"""The shapes of planted games, named after the paper's skills."""

NOISES = {
    "T=0": Noise(),
    "T=.25": Noise(temperature=0.25),
    "T=.5": Noise(temperature=0.5),
    "T=1.5": Noise(temperature=1.5),
    "lapse": Noise(lapse=0.08),
}
"""The kinds of noise by the names that tables show."""

BUDGETS = (600, 1200, 2400, 4800)
"""Rollouts at which the adaptive estimator is compared."""

CURVE = tuple(round(120 * 1.12**step) for step in range(33))
"""Budgets at which the error of a steady agent's values is followed, for rollouts at equal error."""

Tell = Callable[[str], None]
"""Reports progress."""

SAME_ROLLOUTS = {arms.PAPER: "auto, as K=12", arms.MOST: "auto, as K=48"}
"""The adaptive run cut at what Algorithm 1 spent (or at the largest budget, if that is less)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GameComparison:
    """All methods on one game with one kind of noise. `noisy_after` is when the policy called the agent noisy.

    `saved` is how many times fewer rollouts the adaptive run needed for the error of Algorithm 1 at K=12 (T=0 only).
    """

    shape: str
    noise: str
    seed: int
    qualities: tuple[Quality, ...]
    noisy_after: int | None
    saved: float | None = None

    def of(self, arm: str) -> Quality | None:
        """One method's quality."""
        return next((quality for quality in self.qualities if quality.arm == arm), None)


def compare_on_game(shape: str, noise: str, seed: int, budgets: Sequence[int] = BUDGETS) -> GameComparison:
    """Play every method on one game."""
    game, kind = planted_skill(shape, seed), NOISES[noise]
    truth, rng = game.truth(kind), np.random.default_rng([seed, 7])
    answers = [*arms.chain_answers(game, kind, rng), *arms.simple_answers(game, kind, rng)]
    run = arms.run_adaptive(game, kind, seed, max(budgets))
    answers += [run.at(budget) for budget in budgets]
    for arm, same in SAME_ROLLOUTS.items():
        spent = next(answer.rollouts for answer in answers if answer.arm == arm)
        answers.append(run.at(min(spent, max(budgets)), same))
    saved = None
    if noise == "T=0":
        paper = next(answer for answer in answers if answer.arm == arms.PAPER)
        grid = [budget for budget in CURVE if budget <= max(budgets)]
        errors = [error_over_spread(run.values(budget), truth) for budget in grid]
        reached = rollouts_to_reach(error_over_spread(paper.values, truth), grid, errors)
        saved = None if reached is None else paper.rollouts / reached
    return GameComparison(
        shape=shape,
        noise=noise,
        seed=seed,
        qualities=tuple(judge(answer, truth) for answer in answers),
        noisy_after=run.noisy_after(),
        saved=saved,
    )


def compare(
    games: int,
    *,
    noises: Sequence[str] = tuple(NOISES),
    shapes: Sequence[str] = SHAPES,
    budgets: Sequence[int] = BUDGETS,
    tell: Tell = lambda _: None,
) -> list[GameComparison]:
    """Every shape and noise on the first test seeds."""
    comparisons = []
    for noise in noises:
        for shape in shapes:
            for seed in TEST_SEEDS[:games]:
                comparisons.append(compare_on_game(shape, noise, seed, budgets))
                tell(f"{noise} {shape} game {seed - TEST_SEEDS[0] + 1} of {games}")
    return comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class LateNoise:
    """Noise that begins in the middle of a run: how many runs noticed it, and how many rollouts later."""

    noticed: int
    runs: int
    delay: float


def late_noise(games: int, *, begins: int = 1000, budget: int = 4800) -> LateNoise:
    """An agent that is deterministic for `begins` rollouts and then answers at temperature 0.5."""
    delays = []
    for shape in SHAPES:
        for seed in TEST_SEEDS[:games]:
            run = arms.run_adaptive(planted_skill(shape, seed), NOISES["T=.5"], seed, budget, noise_from=begins)
            after = run.noisy_after()
            delays.append(None if after is None else after - begins)
    seen = [delay for delay in delays if delay is not None]
    return LateNoise(noticed=len(seen), runs=len(delays), delay=float(np.median(seen)) if seen else float("nan"))


def operator_ratio(games: int, *, budget: int = 1200, crowding: float = 0.3) -> float | None:
    """Rollouts for both operators over rollouts for deletion alone, at equal mean error of the net effects (T=0)."""
    grid = [size for size in CURVE if budget <= size <= 4 * budget]
    targets, curves = [], []
    for shape in SHAPES:
        for seed in TEST_SEEDS[:games]:
            game = planted_skill(shape, seed)
            truth = game.truth(Noise())
            alone = arms.run_adaptive(game, Noise(), seed, budget)
            targets.append(error_over_spread(alone.values(budget), truth))
            player = Player(game, Noise(), seed, crowding=crowding)
            options = AdaptiveOptions(stop=MaxRollouts(max(grid)))
            record = play_adaptive(make_adaptive_problem(game, (Operator.DELETE, Operator.PAD)), player, options, seed)
            both = arms.AdaptiveRun(game=game, record=record, orders=alone.orders)
            curves.append([error_over_spread(both.values(size), truth) for size in grid])
    reached = rollouts_to_reach(float(np.mean(targets)), grid, np.mean(curves, axis=0).tolist())
    return None if reached is None else reached / budget
