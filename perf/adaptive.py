"""Own CPU of the adaptive policy and of its estimators; rollouts cost nothing here."""

from __future__ import annotations

from time import process_time

import numpy as np

from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.patterns import pattern_effects
from skillsv.estimate.adaptive.surrogate import fit_surrogate
from skillsv.rollout.adaptive import AdaptiveOptions, AdaptiveProblem, MaxRollouts, adaptive_policy

TASKS = 80
"""Tasks of the measured problems."""

ROLLOUTS = 3000
"""Rollouts that the policy asks for."""


def figures() -> list[tuple[str, float, str]]:
    small, large = (policy_cost(units, "deterministic") for units in (100, 600))
    return [
        ("policy, steady agent, 600 units", 1000 * large, "ms a rollout (bar: 1)"),
        ("policy, noisy agent, 600 units", 1000 * policy_cost(600, "noisy"), "ms a rollout (bar: 1)"),
        ("policy, 600 units over 100 units", large / small, "times (linear: 6)"),
        ("surrogate fit, 100 units, 10,000 rollouts", fit_seconds(100, 10_000), "s (bar: 3)"),
        ("pattern estimate, 100 units, 10,000 rollouts", pattern_seconds(100, 10_000), "s"),
    ]


def policy_cost(units: int, agent: str) -> float:
    """Seconds of CPU a rollout, orders included: a flat skill whose tasks depend on two units each."""
    names = tuple(f"u{place}" for place in range(units))
    rng = np.random.default_rng(0)
    deciding = {f"t{task}": set(rng.choice(names, size=2).tolist()) for task in range(TASKS)}
    problem = AdaptiveProblem(
        units=names,
        trigger="m",
        needs=dict.fromkeys(names, ("m",)),
        tasks=tuple(deciding),
        sample_order=lambda order_rng: ("m", *(names[place] for place in order_rng.permutation(units).tolist())),
    )
    policy = adaptive_policy(problem, AdaptiveOptions(stop=MaxRollouts(ROLLOUTS), agent=agent), 0)
    start, answering, asked = process_time(), 0.0, 0
    try:
        wanted = next(policy)
        while True:
            began = process_time()
            answers = {request: float(deciding[request.task] <= request.coalition) for request in wanted}
            answering += process_time() - began
            asked += len(wanted)
            wanted = policy.send(answers)
    except StopIteration:
        return (process_time() - start - answering) / max(asked, 1)


def _scored(units: int, rows: int) -> ScoredCoalitions:
    rng = np.random.default_rng(1)
    present, task = rng.random((rows, units)) < 0.5, rng.integers(TASKS, size=rows)
    logit = rng.normal(0, 1, TASKS)[task] + (present - 0.5) @ rng.normal(0, 0.5, units)
    return ScoredCoalitions(
        present=present, task=task, score=(rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(float)
    )


def fit_seconds(units: int, rows: int) -> float:
    scored = _scored(units, rows)
    start = process_time()
    fit_surrogate(scored, TASKS)
    return process_time() - start


def pattern_seconds(units: int, rows: int) -> float:
    scored = _scored(units, rows)
    places = np.argsort([np.random.default_rng(seed).permutation(units) for seed in range(1000)], axis=1)
    start = process_time()
    pattern_effects(scored, TASKS, places)
    return process_time() - start


if __name__ == "__main__":
    for name, value, unit in figures():
        print(f"{name:48} {value:10.3f} {unit}")
