"""Redundant and complementary pairs: suspected from a run's records, tested on a window of panel A. Spends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skillsv.confirm.pairs import Suspicion, Tested, judge_pair, pairs_policy, removals, suspected
from skillsv.errors import CoalitionError
from skillsv.model.protocols import Listener
from skillsv.model.task import Task
from skillsv.pipeline.reopen import ReopenedRun, RunOverrides, forecast_again, panel_a, reopen, spending
from skillsv.rollout import Forecast, Stop, check_noise
from skillsv.tasks import draw_window

PAIRS_STREAM = 14
NOISE_TASKS, NOISY_REPLICATES = 3, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsJob:
    """Which pairs to test: these, or the most suspicious ones of the run."""

    run: Path
    again: RunOverrides
    pairs: tuple[tuple[str, str], ...] = ()
    most: int = 5
    window: int = 48
    replicates: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPairs:
    """The pairs, the window and the cost, before anything is spent. `suspicions` are all that the records raise."""

    job: PairsJob
    reopened: ReopenedRun
    pairs: tuple[tuple[str, str], ...]
    suspicions: tuple[Suspicion, ...]
    tasks: tuple[Task, ...]
    forecast: Forecast


def prepare_pairs(job: PairsJob) -> PreparedPairs:
    """Find the suspects, or check the pairs that were named; forecast the test."""
    reopened = reopen(job.run, job.again)
    run = reopened.run
    suspicions = tuple(suspected(run.compiled, run.records, run.observations))
    pairs = tuple(_known(reopened, *pair) for pair in job.pairs)
    pairs = pairs or tuple((each.first, each.second) for each in suspicions[: job.most])
    panel = panel_a(reopened)
    rng = np.random.default_rng([run.settings.seed, PAIRS_STREAM])
    window = draw_window(panel, min(job.window, len(panel.tasks)), rng)
    versions = {coalition for pair in pairs for coalition in removals(run.compiled, *pair)}
    few = len(versions) * len(window.tasks) * (job.replicates or 1)
    many = few * (1 if job.replicates else NOISY_REPLICATES)
    return PreparedPairs(
        job=job,
        reopened=reopened,
        pairs=pairs,
        suspicions=suspicions,
        tasks=tuple(reopened.tasks[task] for task in window.tasks),
        forecast=forecast_again(reopened, few, many),
    )


def _known(reopened: ReopenedRun, one: str, other: str) -> tuple[str, str]:
    """The pair by full ids; a beginning that only one unit has will do."""
    units = reopened.run.compiled.execution
    found = []
    for name in (one, other):
        matching = [name] if name in units else [unit for unit in units if unit.startswith(name)]
        if len(matching) != 1:
            raise CoalitionError(
                f"{name!r} names {len(matching)} units of this skill.",
                hint="Give ids as 'skillsv compile' prints them.",
            )
        found += matching
    if found[0] == found[1]:
        raise CoalitionError(f"{one!r} and {other!r} are the same unit.", hint="Name two.")
    return found[0], found[1]


async def try_pairs(prepared: PreparedPairs, listener: Listener, stop: Stop) -> tuple[Tested, ...]:
    """Remove one, the other, both, on the same tasks, and say how the two act together."""
    compiled, settings = prepared.reopened.run.compiled, prepared.reopened.settings
    wanted = [coalition for pair in prepared.pairs for coalition in removals(compiled, *pair)]
    names = [task.id for task in prepared.tasks]
    expected = len(set(wanted)) * len(names)
    async with spending(
        prepared.reopened, prepared.tasks, listener, stop, expected=expected, purpose="pairs"
    ) as runner:
        replicates = prepared.job.replicates
        if replicates is None:
            check = check_noise(names[:NOISE_TASKS], compiled.everything, repeats=NOISY_REPLICATES)
            (noise,) = await runner.run_policies([check])
            replicates = 1 if noise.deterministic else NOISY_REPLICATES
        (scores,) = await runner.run_policies([pairs_policy(wanted, names, replicates=replicates)])
    rng = np.random.default_rng([settings.seed, PAIRS_STREAM, 1])
    resolution = prepared.reopened.run.valuation.estimate.resolution
    return tuple(
        judge_pair(compiled, pair, scores, level=settings.level, resolution=resolution, rng=rng)
        for pair in prepared.pairs
    )
