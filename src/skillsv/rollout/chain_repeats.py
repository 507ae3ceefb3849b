"""Which rollouts of a chain run are repeated to look for noise, and which replicate number each chain gets.

Chains of a deterministic agent all have replicate 0, so the ledger answers prompts that they share. Chains of a noisy
agent have a replicate number each. Whether the agent is noisy is asked before the first chain and after every wave of
chains. The waves do not depend on the number of jobs: a resumed run gives every chain the same number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from skillsv.model.coalition import ChainPlan, ChainRecord, Operator
from skillsv.model.rollout import Request
from skillsv.rollout.noise_check import Noise

ANCHOR_TASKS = 5
"""Tasks of the first window on which the bare agent and the full skill are repeated before the first chain."""

ANCHOR_ROLLOUTS = 3
"""Rollouts of each of these anchors, the first included; a noisy agent's next chains use the repeats."""

START_LENGTHS = ((0.0, 0.5), (0.25, 0.75))
"""Lengths of the prefixes that are repeated before the first chain, as shares of the order; 0 is {m} alone.

The first pair is for chains with an even index, the second for the others.
"""

FIRST_WAVE = 4
"""Chains of the first wave. Each wave has twice as many as the one before it, so that chains rarely wait."""

REPEATED_SHARE = 0.03
"""Share of a chain's rollouts that are repeated after its wave, at least one."""

START_STREAM = 3
"""Random stream of the repeats before the first chain; the streams 0 to 2 belong to orders and windows."""

CHAIN_STREAM = 4
"""Random stream of the repeats after a wave."""

EMPTY = -1
"""Stands for the bare agent among the positions of an order."""


def anchors_to_repeat(plan: ChainPlan) -> list[Request]:
    """The bare agent and the full skill on the first tasks of the first chain."""
    positions = (EMPTY, len(plan.order) - 1)
    return [
        _request(plan, position, Operator.DELETE, task)
        for position in positions
        for task in plan.window.tasks[:ANCHOR_TASKS]
    ]


def prefixes_to_repeat(plans: Sequence[ChainPlan], seed: int) -> list[Request]:
    """Prefixes of different lengths of the first chains, each on a random task of the chain's window."""
    requests = []
    for plan in plans[:FIRST_WAVE]:
        rng = np.random.default_rng([seed, plan.index, START_STREAM])
        last = len(plan.order) - 1
        lengths = START_LENGTHS[plan.index % len(START_LENGTHS)]
        for position in sorted({round(share * last) for share in lengths} - {last}):
            operator = plan.operators[int(rng.integers(len(plan.operators)))]
            task = plan.window.tasks[int(rng.integers(len(plan.window.tasks)))]
            requests.append(_request(plan, position, operator, task))
    return requests


def rollouts_to_repeat(record: ChainRecord, seed: int) -> list[Request]:
    """A share of a finished chain's rollouts, drawn over its prefixes and tasks: all were scored, none is wasted."""
    plan, last = record.plan, len(record.plan.order) - 1
    reached = last if record.truncated_at is None else record.truncated_at
    scored = [(EMPTY, Operator.DELETE), (last, plan.operators[0])]
    scored += [(position, operator) for position in range(min(reached + 1, last)) for operator in plan.operators]
    tasks = plan.window.tasks
    count = max(1, round(REPEATED_SHARE * len(scored) * len(tasks)))
    rng = np.random.default_rng([seed, plan.index, CHAIN_STREAM])
    drawn = rng.choice(len(scored) * len(tasks), size=count, replace=False).tolist()
    pairs = [(scored[number // len(tasks)], tasks[number % len(tasks)]) for number in drawn]
    return [_request(plan, position, operator, task) for (position, operator), task in pairs]


def _request(plan: ChainPlan, position: int, operator: Operator, task: str) -> Request:
    return Request(
        coalition=frozenset(plan.order[: position + 1]),
        operator=operator,
        task=task,
        replicate=plan.replicate,
        why="check:noise",
    )


def waves(plans: Sequence[ChainPlan]) -> Iterator[Sequence[ChainPlan]]:
    """The chains in waves of growing size. More orders leave the earlier waves as they are."""
    start, size = 0, FIRST_WAVE
    while start < len(plans):
        yield plans[start : start + size]
        start, size = start + size, 2 * size


def with_replicates(plans: Sequence[ChainPlan], noise: Noise, stored: Mapping[int, int]) -> list[ChainPlan]:
    """The plans with replicate 0 for a deterministic agent, else one replicate per chain: its index.

    `stored` are the replicate numbers of finished chains by index: a finished chain keeps its number, so that nothing
    is paid for twice if the check has changed since.
    """
    return [replace(plan, replicate=stored.get(plan.index, 0 if noise.deterministic else plan.index)) for plan in plans]


def most_repeats(rollouts: int, window: int, orders: int) -> int:
    """An upper bound of what the noise check adds to chains of so many rollouts.

    Before the first chain a prefix may be scored that its chain does not reach, so it counts twice.
    """
    anchors = 2 * (ANCHOR_ROLLOUTS - 1) * min(ANCHOR_TASKS, window)
    prefixes = 2 * len(START_LENGTHS[0]) * min(FIRST_WAVE, orders)
    return anchors + prefixes + max(orders, math.ceil(REPEATED_SHARE * rollouts + orders / 2))
