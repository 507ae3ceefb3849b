"""The share of units with a verdict by budget, units, tasks and noise: what `skillsv plan` expects of a budget.

python -m skillsv_bench.families.decided        # prints the table; about a quarter of an hour
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skillsv.extend.estimators import (
    AVERAGED_ORDERS,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    EstimateOptions,
    MaxRollouts,
    Sampler,
    adaptive_policy,
    estimate_adaptive,
)
from skillsv.model.coalition import AgentPrior
from skillsv.model.value import Evidence
from skillsv_bench.families.game import KINDS, FamilyGame, draw_game
from skillsv_bench.families.noise import NOISES
from skillsv_bench.families.player import FamilyPlayer

BUDGETS = (200, 400, 800, 1600)
"""Rollouts after which verdicts are counted."""

UNITS = (15, 30, 60)
"""Execution units of the games."""

TASKS = (20, 40, 80)
"""Tasks of the games."""

AGENTS = {"deterministic": "T=0", "noisy": "T=.25"}
"""The two kinds of agents that a plan tells apart, and the noise of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedShare:
    """One cell of the table: `share` is the mean over games of units with a verdict, `games` how many there were."""

    agent: str
    units: int
    tasks: int
    budget: int
    share: float
    games: int


def measure(units: int, tasks: int, agent: str, *, kinds: tuple[str, ...] = KINDS) -> Iterator[DecidedShare]:
    """The shares of all budgets, over one game of each kind."""
    found: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    for seed, kind in enumerate(kinds):
        game = draw_game(kind, 1000 + seed, units=units, tasks=tasks)
        record = play(game, agent, max(BUDGETS))
        sampler = Sampler(game.compiled)
        orders = [sampler.sample(np.random.default_rng([seed, index])) for index in range(AVERAGED_ORDERS)]
        for budget in BUDGETS:
            seen = record.observations[:budget]
            if agent == "noisy" and not any(observation.agent_is_noisy for observation in seen):
                found[budget].append(0.0)  # verdicts of a noisy agent that is not yet known to be noisy do not count
                continue
            estimate = estimate_adaptive(game.compiled, seen, orders, EstimateOptions(panel=tasks))
            decided = [unit.evidence is not Evidence.UNRESOLVED for unit in estimate.units]
            found[budget].append(float(np.mean(decided)))
    for budget, shares in found.items():
        yield DecidedShare(
            agent=agent, units=units, tasks=tasks, budget=budget, share=float(np.mean(shares)), games=len(shares)
        )


def play(game: FamilyGame, agent: str, budget: int, *, prior: AgentPrior | None = None) -> AdaptiveRecord:
    """One adaptive run of so many rollouts; `prior` is what other agents showed."""
    problem = AdaptiveProblem(
        units=game.compiled.execution,
        trigger=game.compiled.trigger,
        needs=game.compiled.needs,
        tasks=tuple(task.id for task in game.tasks),
        sample_order=Sampler(game.compiled).sample,
    )
    player = FamilyPlayer(game, NOISES[AGENTS[agent]], game.seed)
    earlier = () if prior is None else prior.scores
    policy = adaptive_policy(problem, AdaptiveOptions(stop=MaxRollouts(budget), earlier_scores=earlier), game.seed)
    try:
        requests = next(policy)
        while True:
            requests = policy.send(player.answer(requests))
    except StopIteration as done:
        record: AdaptiveRecord = done.value
        return record


def main() -> None:
    """Print the table, a line for each panel as soon as it is measured."""
    out = sys.stdout
    out.write("agent, units, tasks: share decided at " + ", ".join(map(str, BUDGETS)) + "\n")
    for agent in AGENTS:
        for units in UNITS:
            for tasks in TASKS:
                shares = [f"{cell.share:.2f}" for cell in measure(units, tasks, agent)]
                out.write(f"{agent}, {units}, {tasks}: {', '.join(shares)}\n")
                out.flush()


if __name__ == "__main__":
    main()
