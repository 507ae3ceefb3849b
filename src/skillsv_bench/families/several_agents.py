"""What the values of one agent save for the next: three agents with known values on the same skill and tasks.

python -m skillsv_bench.families.several_agents                # prints the tables; about a quarter of an hour
python -m skillsv_bench.families.several_agents noisy 2100     # noisy agents alone, in the games of one seed

The second and third agent share four fifths of their tasks' formulas with the first. On the other tasks they have
formulas of their own, and one unit, among the most valuable for the first agent, does the opposite for them. The
question is how many rollouts a later agent needs with and without what earlier agents showed. Two figures answer it,
both as a multiple of the first agent's `FIRST` rollouts for all three agents together:

- *The first's precision*: each later agent reaches the error that the first has after `FIRST` rollouts.
- *Its own precision*: each later agent reaches the error that it would itself have alone after `FIRST` rollouts. Agents
  whose values are harder to find are then not asked for more than the budget gives without other agents.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.extend.estimators import (
    AVERAGED_ORDERS,
    AdaptiveRecord,
    EstimateOptions,
    Sampler,
    estimate_adaptive,
    find_steady_scores,
)
from skillsv.model.coalition import AgentPrior, Order
from skillsv.model.value import Estimate, Evidence
from skillsv_bench.families.decided import AGENTS, play
from skillsv_bench.families.formulas import draw_formula
from skillsv_bench.families.game import KINDS, FamilyGame, draw_game
from skillsv_bench.families.noise import NOISES

FIRST = 800
"""Rollouts of the first agent: their error is the precision that the others must reach."""

BUDGETS = (300, 400, 500, 600, 700, 800, 1000)
"""Rollouts after which the error of a later agent is measured."""

SHARED = 0.8
"""Share of the tasks on which a later agent has the formula of the first."""

UNITS, TASKS = 30, 40
"""Sizes of the games."""

SEEDS = (2100, 2101, 2102)
"""Seeds of the games; no constant of the product was chosen on them."""

AGENT_STREAM = 31
"""Random stream of the later agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPrecision:
    """How well one agent of one game is known after so many rollouts.

    `error` is the root mean squared error of the values, `width` the mean width of their intervals, `covered` the share
    of intervals that hold the truth, `shown` and `right` the numbers of signs that are shown, and of those, right.
    """

    agent: int
    informed: bool
    budget: int
    error: float
    width: float
    covered: float
    shown: int
    right: int


def draw_agents(kind: str, seed: int, *, units: int = UNITS, tasks: int = TASKS, agents: int = 3) -> list[FamilyGame]:
    """The games of several agents: the same skill and tasks, other formulas in part, and one unit turned over."""
    first = draw_game(kind, seed, units=units, tasks=tasks)
    ranked = np.argsort(-first.truth(NOISES["T=0"]))
    games = [first]
    for number in range(1, agents):
        rng = np.random.default_rng([seed, number, AGENT_STREAM])
        turned = int(ranked[number - 1])
        formulas = []
        for formula in first.formulas:
            own = formula if rng.random() < SHARED else draw_formula(kind, first.traits, rng)
            weights = own.main.copy()
            weights[turned] = -weights[turned]
            formulas.append(replace(own, main=weights))
        games.append(replace(first, formulas=tuple(formulas), seed=seed + 1000 * number))
    return games


def measure_game(kind: str, seed: int, agent: str, *, budgets: Sequence[int] = BUDGETS) -> Iterator[AgentPrecision]:
    """The precision of all agents of one game, the later ones with and without what the earlier ones showed."""
    games = draw_agents(kind, seed)
    sampler = Sampler(games[0].compiled)
    orders = [sampler.sample(np.random.default_rng([seed, index])) for index in range(AVERAGED_ORDERS)]
    prior = AgentPrior()
    for number, game in enumerate(games):
        informed_run = None
        for informed in (False, True) if number else (False,):
            told = prior if informed else AgentPrior()
            record = play(game, agent, max(budgets), prior=told)
            for budget in budgets:
                estimate = _estimate(game, record, budget, orders, told)
                yield _compare(game, estimate, agent, number, budget, informed=informed)
            informed_run = record
        assert informed_run is not None
        prior = _add(prior, game, informed_run, orders)


def _estimate(
    game: FamilyGame, record: AdaptiveRecord, budget: int, orders: Sequence[Order], told: AgentPrior
) -> Estimate:
    options = EstimateOptions(prior=told.values, earlier_scores=told.scores)
    return estimate_adaptive(game.compiled, record.observations[:budget], orders, options)


def _add(prior: AgentPrior, game: FamilyGame, record: AdaptiveRecord, orders: Sequence[Order]) -> AgentPrior:
    """What is known after one more agent, which had `FIRST` rollouts."""
    seen = record.observations[:FIRST]
    estimate = _estimate(game, record, FIRST, orders, prior)
    scores = () if record.noisy else (find_steady_scores(seen),)
    values = {unit.id: unit.net_or_zero.value for unit in estimate.units}
    return AgentPrior(scores=(*prior.scores, *scores), values=(*prior.values, values))


def _compare(
    game: FamilyGame, estimate: Estimate, agent: str, number: int, budget: int, *, informed: bool
) -> AgentPrecision:
    truth = game.truth(NOISES[AGENTS[agent]])
    units = estimate.units
    values = np.array([unit.net_or_zero.value for unit in units])
    signs = {Evidence.POSITIVE: 1.0, Evidence.NEGATIVE: -1.0}
    shown = [(signs[unit.evidence], value) for unit, value in zip(units, truth, strict=True) if unit.evidence in signs]
    inside = [
        unit.on_panel.low - 1e-9 <= value <= unit.on_panel.high + 1e-9 for unit, value in zip(units, truth, strict=True)
    ]
    return AgentPrecision(
        agent=number,
        informed=informed,
        budget=budget,
        error=float(np.sqrt(np.mean((values - truth) ** 2))),
        width=float(np.mean([unit.on_panel.high - unit.on_panel.low for unit in units])),
        covered=float(np.mean(inside)),
        shown=len(shown),
        right=sum(sign * value > 0 for sign, value in shown),
    )


def rollouts_for(errors: Sequence[float], goal: float, budgets: Sequence[int] = BUDGETS) -> float:
    """The rollouts at which falling errors reach the goal, between budgets by interpolation; infinite if never."""
    for place, error in enumerate(errors):
        if error <= goal:
            if not place:
                return float(budgets[0])
            before = errors[place - 1]
            share = (before - goal) / max(before - error, 1e-12)
            return budgets[place - 1] + share * (budgets[place] - budgets[place - 1])
    return float("inf")


def main(words: Sequence[str]) -> None:
    """Print one table for steady and one for noisy agents; words choose agents, seeds and kinds of games."""
    out = sys.stdout
    seeds = [int(word) for word in words if word.isdigit()] or SEEDS
    kinds = [word for word in words if word in KINDS] or KINDS
    for agent in [word for word in words if word in AGENTS] or AGENTS:
        found = [row for seed in seeds for kind in kinds for row in measure_game(kind, seed, agent)]
        out.write(f"{agent}: agent, informed, rollouts: error, width, coverage, right of shown signs\n")
        curves: dict[tuple[int, bool], list[float]] = {}
        for key in sorted({(row.agent, row.informed) for row in found}):
            for budget in BUDGETS:
                rows = [row for row in found if (row.agent, row.informed) == key and row.budget == budget]
                curves.setdefault(key, []).append(float(np.mean([row.error for row in rows])))
                out.write(f"{key[0] + 1}, {key[1]}, {budget}: {_summary(rows)}\n")
        out.writelines(f"{sentence}\n" for sentence in compare_costs(curves))
        out.flush()


def _summary(rows: Sequence[AgentPrecision]) -> str:
    """Mean error, width and coverage over games, and how many of the shown signs are right."""
    error, width, covered = (
        float(np.mean([getattr(row, name) for row in rows])) for name in ("error", "width", "covered")
    )
    shown, right = sum(row.shown for row in rows), sum(row.right for row in rows)
    return f"{error:.4f}, {width:.3f}, {covered:.3f}, {right}/{shown}"


def compare_costs(curves: Mapping[tuple[int, bool], Sequence[float]]) -> Iterator[str]:
    """Both figures in sentences, from the mean errors at `BUDGETS` of each agent (from 0), alone and informed."""
    place = BUDGETS.index(FIRST)
    for whose in ("the first's", "their own"):
        total = float(FIRST)
        for number in (1, 2):
            goal = curves[0 if whose == "the first's" else number, False][place]
            alone, told = (rollouts_for(curves[number, informed], goal) for informed in (False, True))
            total += told
            yield f"agent {number + 1} reaches the error {goal:.4f} after {alone:.0f} alone, {told:.0f} informed"
        yield f"three agents need {total / FIRST:.2f} times the rollouts of the first for {whose} precision"


if __name__ == "__main__":
    main(sys.argv[1:])
