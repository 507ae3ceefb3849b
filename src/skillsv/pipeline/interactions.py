"""Tests of redundant and complementary pairs on a window of panel A: which pairs, what they cost, how they come out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skillsv.confirmation.interaction_tests import TestedPair, classify_pair, pair_coalitions, pairs_policy
from skillsv.decide.interactions import SuspectedPair, find_suspected_pairs
from skillsv.errors import CoalitionError
from skillsv.model.protocols import Listener
from skillsv.model.skill import find_unit
from skillsv.model.task import Task
from skillsv.pipeline.cost import forecast_more_rollouts
from skillsv.pipeline.replicates import NOISY_REPLICATES, choose_replicates, count_repeats
from skillsv.pipeline.run import ReopenedRun, RunOverrides, panel_a, refuse_idle_judge, reopen
from skillsv.pipeline.session import open_recorded_run
from skillsv.rollout import Forecast, Stop
from skillsv.tasks import draw_window

PAIRS_STREAM = 14
"""Random stream of the window and of the intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsJob:
    """Which pairs to test: these, or the `most` most suspicious ones of the run."""

    run: Path
    overrides: RunOverrides
    pairs: tuple[tuple[str, str], ...] = ()
    most: int = 5
    window: int = 48
    replicates: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPairs:
    """The pairs, the window and the cost, before anything is spent. `suspicions` are all pairs found in the records."""

    job: PairsJob
    reopened: ReopenedRun
    pairs: tuple[tuple[str, str], ...]
    suspicions: tuple[SuspectedPair, ...]
    tasks: tuple[Task, ...]
    forecast: Forecast


def prepare_pairs(job: PairsJob) -> PreparedPairs:
    """Find suspected pairs, or check the pairs that were named; forecast the test."""
    reopened = reopen(job.run, job.overrides)
    run = reopened.run
    suspicions = tuple(find_suspected_pairs(run.compiled, run.records, run.observations))
    named = tuple(_resolve_pair(reopened, *pair) for pair in job.pairs)
    pairs = named or tuple((pair.first, pair.second) for pair in suspicions[: job.most])
    panel = panel_a(reopened)
    refuse_idle_judge(job.overrides, panel.tasks)
    rng = np.random.default_rng([run.settings.seed, PAIRS_STREAM])
    window = draw_window(panel, min(job.window, len(panel.tasks)), rng)
    coalitions = {coalition for pair in pairs for coalition in pair_coalitions(run.compiled, *pair)}
    once = len(coalitions) * len(window.tasks) * (job.replicates or 1)
    low = once + count_repeats(len(coalitions), len(window.tasks), given=job.replicates)
    high = once * (1 if job.replicates else NOISY_REPLICATES)
    return PreparedPairs(
        job=job,
        reopened=reopened,
        pairs=pairs,
        suspicions=suspicions,
        tasks=tuple(reopened.tasks[task] for task in window.tasks),
        forecast=forecast_more_rollouts(reopened.folder, reopened.settings.jobs, low, high),
    )


def _resolve_pair(reopened: ReopenedRun, one: str, other: str) -> tuple[str, str]:
    """The full ids of a pair."""
    first, second = (find_unit(reopened.run.compiled.execution, name) for name in (one, other))
    if first == second:
        raise CoalitionError(f"{one!r} and {other!r} are the same unit.", hint="Name two units.")
    return first, second


async def run_pair_tests(prepared: PreparedPairs, listener: Listener, stop: Stop | None) -> tuple[TestedPair, ...]:
    """Remove one unit, the other and both on the same tasks, and classify how the two act together."""
    compiled, settings = prepared.reopened.run.compiled, prepared.reopened.settings
    coalitions = [coalition for pair in prepared.pairs for coalition in pair_coalitions(compiled, *pair)]
    tasks = [task.id for task in prepared.tasks]
    expected = len(set(coalitions)) * len(tasks)
    async with open_recorded_run(
        prepared.reopened, prepared.tasks, listener, stop, expected=expected, purpose="pairs"
    ) as runner:
        replicates, _ = await choose_replicates(
            runner, coalitions, tasks, given=prepared.job.replicates, seed=settings.seed
        )
        (scores,) = await runner.run_policies([pairs_policy(coalitions, tasks, replicates=replicates)])
    rng = np.random.default_rng([settings.seed, PAIRS_STREAM, 1])
    resolution = prepared.reopened.run.valuation.estimate.resolution
    return tuple(
        classify_pair(compiled, pair, scores, level=settings.level, resolution=resolution, rng=rng)
        for pair in prepared.pairs
    )
