"""The comparison on family games: every kind and noise, every method, against the exact values and on new tasks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from skillsv.extend.estimators import (
    AVERAGED_ORDERS,
    AdaptiveOptions,
    EstimateOptions,
    MaxRollouts,
    Sampler,
    chain_policy,
    draw_window,
    estimate_adaptive,
    estimate_chains,
)
from skillsv.model.coalition import ChainPlan, ChainRecord, Coalition, Observation, Operator, Order
from skillsv.model.task import PanelA
from skillsv.model.value import Estimate, Interval
from skillsv_bench.estimators import arms
from skillsv_bench.estimators.arms import make_adaptive_problem, play_adaptive
from skillsv_bench.estimators.peers import PeerAnswer, peer_answers
from skillsv_bench.estimators.study import (
    SLACK,
    Tell,
    count_decisions,
    error_over_spread,
    rank_correlation,
    rollouts_to_reach,
)
from skillsv_bench.families import NOISES, FamilyGame, FamilyNoise, FamilyPlayer, draw_game
from skillsv_bench.planted.game import Floats

TUNING_KINDS = ("sparse", "dense", "harmful", "graded")
"""Kinds that constants were chosen on, by games of `TUNING_SEEDS`; the other kinds were left out of tuning.

The two widths of a noisy agent (`estimate/adaptive/values.py`) were chosen on games of all kinds, of these seeds.
"""

TUNING_SEEDS = range(1000)
"""Games that constants were chosen on. Nothing reported comes from them."""

REPORT_SEEDS = range(16_000_000, 16_001_000)
"""Games that figures are reported on. When a figure leads to a change of a constant, take a fresh range here."""

BUDGETS = (200, 400, 800, 1600)
"""Rollouts at which methods are compared."""

CURVE = (150, 200, 250, 300, 400, 500, 600, 800, 1000, 1200, 1600)
"""Budgets at which the error of a steady agent's values is followed, for rollouts at equal error."""

CHAINS = 12
"""The paper's number of orders."""

MATTERS = 0.01
"""Units whose value exceeds one point, in either direction, are also counted on their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyQuality:
    """One method at one budget on one game. Counts add up over games; None where a method gives no intervals.

    `slope` is that of the estimates on the true values. `own_error` is rmse/sd against the method's own target.
    `covered` and the like are the numbers of units whose interval holds the true value, `matter` the units above one
    point, `covered_new` compares the interval for tasks like these with the values on new tasks.
    """

    arm: str
    rollouts: int
    error: float
    spearman: float
    slope: float
    own_error: float | None = None
    units: int = 0
    covered: int | None = None
    matter: int = 0
    covered_matter: int | None = None
    covered_new: int | None = None
    half_width: float | None = None
    decided: int = 0
    false: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyComparison:
    """All methods on one game with one kind of noise. `noisy_after`: rollouts until the agent was called noisy.

    `saved` is how many times fewer rollouts `auto` needed for the error of Algorithm 1 (T=0 only).
    """

    kind: str
    noise: str
    seed: int
    qualities: tuple[FamilyQuality, ...]
    noisy_after: int | None
    saved: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyChoice:
    """What to play."""

    kinds: Sequence[str]
    noises: Sequence[str]
    games: int
    budgets: Sequence[int] = BUDGETS
    peers: Sequence[str] = ()
    jobs: int = 1


def compare_families(choice: FamilyChoice, *, tell: Tell = lambda _: None) -> list[FamilyComparison]:
    """Play every kind and noise on the first report seeds, some games at the same time."""
    cells = list(product(choice.noises, choice.kinds, REPORT_SEEDS[: choice.games]))
    inputs = [(kind, noise, seed, choice.budgets, choice.peers) for noise, kind, seed in cells]
    comparisons = []
    with ProcessPoolExecutor(max_workers=choice.jobs) as pool:
        results = pool.map(_compare, inputs) if choice.jobs > 1 else map(_compare, inputs)
        for done, comparison in enumerate(results, start=1):
            comparisons.append(comparison)
            tell(f"{comparison.noise} {comparison.kind}: game {done} of {len(cells)}")
    return comparisons


def _compare(inputs: tuple[str, str, int, Sequence[int], Sequence[str]]) -> FamilyComparison:
    return compare_on_family(*inputs)


def compare_on_family(
    kind: str, noise: str, seed: int, budgets: Sequence[int] = BUDGETS, peers: Sequence[str] = ()
) -> FamilyComparison:
    """Play every method on one game."""
    game, kind_of_noise = draw_game(kind, seed), NOISES[noise]
    truth, new = game.truth(kind_of_noise), game.with_new_tasks().truth(kind_of_noise)
    run = run_family(game, kind_of_noise, seed, max(budgets))
    qualities = [
        _judge(arms.auto_arm(budget), run.estimate(budget), min(budget, run.rollouts), truth, new) for budget in budgets
    ]
    records = _record_chains(game, kind_of_noise, seed)
    paper_rollouts = arms.count_rollouts(records)
    paper = estimate_chains(game.compiled, records)
    qualities.append(_judge(arms.PAPER, paper, paper_rollouts, truth, new))
    peer_results = peer_answers(game, kind_of_noise, seed, budgets, peers)
    qualities += [_judge_peer(answer, truth) for answer in peer_results]
    return FamilyComparison(
        kind=kind,
        noise=noise,
        seed=seed,
        qualities=tuple(qualities),
        noisy_after=run.noisy_after(),
        saved=_saved(run, truth, _values(paper), paper_rollouts) if noise == "T=0" else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRun:
    """One adaptive run to the largest budget; a prefix of it is a smaller run."""

    game: FamilyGame
    observations: Sequence[Observation]
    orders: Sequence[Order]

    @property
    def rollouts(self) -> int:
        """The rollouts that were spent."""
        return len(self.observations)

    def estimate(self, budget: int) -> Estimate:
        """The estimate after so many rollouts."""
        options = EstimateOptions(panel=len(self.game.tasks))
        return estimate_adaptive(self.game.compiled, self.observations[:budget], self.orders, options)

    def noisy_after(self) -> int | None:
        """The rollouts after which the agent was called noisy; None if it never was."""
        return next((place for place, seen in enumerate(self.observations) if seen.agent_is_noisy), None)


def run_family(game: FamilyGame, noise: FamilyNoise, seed: int, budget: int) -> FamilyRun:
    """Play the adaptive policy up to a budget."""
    options = AdaptiveOptions(stop=MaxRollouts(budget))
    record = play_adaptive(make_adaptive_problem(game), FamilyPlayer(game, noise, seed), options, seed)
    sampler, rng = Sampler(game.compiled), np.random.default_rng([seed, 3])
    orders = [sampler.sample(rng) for _ in range(AVERAGED_ORDERS)]
    return FamilyRun(game=game, observations=record.observations, orders=orders)


def _record_chains(game: FamilyGame, noise: FamilyNoise, seed: int) -> list[ChainRecord]:
    """Algorithm 1 at the paper's setting; a prompt is scored once, as the ledger does."""
    rng, player = np.random.default_rng([seed, 43]), FamilyPlayer(game, noise, seed)
    panel, known = PanelA(tasks=game.tasks), dict[tuple[Coalition, str], float | None]()
    records = []
    for index, order in enumerate(Sampler(game.compiled).orders(rng, CHAINS)):
        window = draw_window(panel, min(arms.WINDOW, len(game.tasks)), rng)
        plan = ChainPlan(
            index=index, order=order, window=window, operators=(Operator.DELETE,), tolerance=arms.TOLERANCE
        )
        records.append(_play_chain(plan, game.compiled.trigger, player, known))
    return records


def _play_chain(
    plan: ChainPlan, trigger: str, player: FamilyPlayer, known: dict[tuple[Coalition, str], float | None]
) -> ChainRecord:
    policy = chain_policy(plan, trigger)
    requests = next(policy)
    while True:
        fresh = [request for request in requests if (request.coalition, request.task) not in known]
        for request, score in player.answer(fresh).items():
            known[request.coalition, request.task] = score
        try:
            requests = policy.send({request: known[request.coalition, request.task] for request in requests})
        except StopIteration as done:
            record: ChainRecord = done.value
            return record


def _judge_peer(answer: PeerAnswer, truth: Floats) -> FamilyQuality:
    """Compare values without intervals with the true values."""
    return FamilyQuality(
        arm=f"{answer.arm}, {answer.rollouts}",
        rollouts=answer.rollouts,
        error=error_over_spread(answer.values, truth),
        spearman=rank_correlation(answer.values, truth),
        slope=slope_on(truth, answer.values),
        own_error=error_over_spread(answer.values, answer.target),
        units=len(truth),
    )


def _judge(arm: str, estimate: Estimate, rollouts: int, truth: Floats, new: Floats) -> FamilyQuality:
    """Compare one estimate with the true values."""
    values, matter = _values(estimate), np.abs(truth) > MATTERS
    panel = [unit.on_panel for unit in estimate.units]
    covered = np.array([_holds(interval, value) for interval, value in zip(panel, truth, strict=True)])
    covered_new = [_holds(unit.net, value) for unit, value in zip(estimate.units, new, strict=True)]
    decided, false = count_decisions(estimate, truth)
    return FamilyQuality(
        arm=arm,
        rollouts=rollouts,
        error=error_over_spread(values, truth),
        spearman=rank_correlation(values, truth),
        slope=slope_on(truth, values),
        units=len(truth),
        covered=int(covered.sum()),
        matter=int(matter.sum()),
        covered_matter=int(covered[matter].sum()),
        covered_new=sum(covered_new),
        half_width=float(np.median([(interval.high - interval.low) / 2 for interval in panel])),
        decided=decided,
        false=false,
    )


def _values(estimate: Estimate) -> Floats:
    return np.array([unit.net_or_zero.value for unit in estimate.units])


def _holds(interval: Interval, value: float) -> bool:
    return bool(interval.low - SLACK <= value <= interval.high + SLACK)


def slope_on(truth: Floats, values: Floats) -> float:
    """The slope of the estimates on the true values: below 1 they are shrunk."""
    centred = truth - truth.mean()
    return float((values - values.mean()) @ centred / (centred @ centred))


def _saved(run: FamilyRun, truth: Floats, paper: Floats, rollouts: int) -> float | None:
    """How many times fewer rollouts the run needed for the error of Algorithm 1; None if it never reached it."""
    grid = [budget for budget in CURVE if budget <= run.rollouts]
    errors = [error_over_spread(_values(run.estimate(budget)), truth) for budget in grid]
    reached = rollouts_to_reach(error_over_spread(paper, truth), grid, errors)
    return None if reached is None else rollouts / reached
