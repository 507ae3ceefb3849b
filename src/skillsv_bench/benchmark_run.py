"""A benchmark run: what is asked for, the paper's settings, and the budget that all steps share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillsv.errors import BudgetReached, SettingsError
from skillsv.extend.runs import ConfirmJob, RunOverrides, ValuationJob
from skillsv.extend.settings import Settings, in_shares, refuse_chain_settings_with_auto, settings_from
from skillsv.extend.task_sources import Grading, TaskSource
from skillsv.model.events import Event, RolloutFinished
from skillsv.model.protocols import Listener
from skillsv.model.task import Task
from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
from skillsv_bench.registry import encode_variant, find_source

OUTPUT_TOKENS = 16_384
"""The limit of tokens for one answer, which the benchmarks' published runs used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """What to run: one skill and one agent on one benchmark, with settings.

    `candidates` are other whole skills; `validation` are the tasks that skills and versions of a skill are selected on.
    Without them nothing is selected.
    """

    benchmark: Benchmark
    source: Source
    loaded: LoadedTasks
    skill: Path
    agent: str
    settings: Settings = field(default_factory=Settings)
    checkpoints: int = 10
    editor: str | None = None
    candidates: tuple[Path, ...] = ()
    validation: tuple[Task, ...] = ()

    @property
    def curves(self) -> tuple[str, ...]:
        """The methods compared: the paper's four, the judge only where there is one, and the pair-aware path."""
        return ("skillsv", "loo", *(("judge",) if self.settings.judge else ()), "random", "skillsv-pairs")

    @property
    def task_source(self) -> TaskSource:
        """The task source for the pipeline; it returns the tasks that are loaded already."""
        task_source = find_source(self.benchmark.name, encode_variant(self.source))
        assert task_source is not None, self.benchmark.name
        return replace(task_source, load_tasks=partial(_return_tasks, self.loaded.tasks))

    @property
    def job(self) -> ValuationJob:
        """The valuation on panel A."""
        return ValuationJob(
            skill=self.skill,
            tasks=self.source.data,
            agent=self.agent,
            settings=self.settings,
            folder=Path.cwd(),
            task_source=self.task_source,
        )

    def confirmation(self, run: Path, overrides: RunOverrides, skill: Path | None = None) -> ConfirmJob:
        """The job that scores on panel B: the pruning curves, or a rewritten `skill` against the old one."""
        curves = self.curves if skill is None else ()
        return ConfirmJob(
            run=run,
            overrides=overrides if curves else replace(overrides, judge=None),
            skill=skill,
            curves=curves,
            checkpoints=self.checkpoints,
            level=self.settings.level,
        )


def _return_tasks(tasks: Sequence[Task], data: Path, grading: Grading) -> Sequence[Task]:
    del data, grading
    return tasks


def paper_settings(benchmark: Benchmark, tasks: int, given: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
    """Return the paper's settings with the given ones in place, and a note if there are too few tasks."""
    refuse_chain_settings_with_auto(given)
    paper = benchmark.paper
    panels, notes = _panel_sizes(benchmark, tasks) if not {"panel_a", "panel_b"} & given.keys() else ({}, ())
    settings = settings_from(
        {
            "method": "chain",
            "orders": 12,
            "window": 8,
            "tolerance": 0.05,
            "operators": list(paper.operators),
            "seed": 42,
            "turns": paper.turns,
            "max_output_tokens": OUTPUT_TOKENS,
            **panels,
            **in_shares(given),
        }
    )
    return settings, notes


def _panel_sizes(benchmark: Benchmark, tasks: int) -> tuple[Mapping[str, int], tuple[str, ...]]:
    a, b = benchmark.paper.panel_a, benchmark.paper.panel_b
    if tasks >= a + b:
        return {"panel_a": a, "panel_b": b}, ()
    if tasks < 2:
        raise SettingsError(f"{tasks} tasks cannot be split into two panels.", hint="Choose another --split.")
    fewer = max(1, tasks * a // (a + b))
    note = f"{tasks} tasks are too few for the paper's panels of {a} and {b}: they are {fewer} and {tasks - fewer}."
    return {"panel_a": fewer, "panel_b": tasks - fewer}, (note,)


@dataclass(slots=True)
class SharedBudget:
    """Counts what one command spends over all steps, so that its limits apply to the protocol as a whole."""

    benchmark_run: BenchmarkRun
    listener: Listener
    rollouts: int = 0
    usd: float = 0.0

    def __call__(self, event: Event) -> None:
        """Count a new rollout, and pass the event on to the listener."""
        if isinstance(event, RolloutFinished) and not event.reused:
            self.rollouts += 1
            self.usd += event.usage.usd or 0.0
        self.listener(event)

    def limit_settings(self) -> Settings:
        """The settings of the benchmark run with what is left of the limits. Raises BudgetReached."""
        left = self.make_overrides()
        return replace(self.benchmark_run.settings, max_rollouts=left.max_rollouts, budget_usd=left.budget_usd)

    def make_overrides(self) -> RunOverrides:
        """Make the overrides of the next step: the same tasks, and what is left of the limits. Raises BudgetReached."""
        limits = self.benchmark_run.settings
        rollouts = None if limits.max_rollouts is None else limits.max_rollouts - self.rollouts
        usd = None if limits.budget_usd is None else limits.budget_usd - self.usd
        if (rollouts is not None and rollouts < 1) or (usd is not None and usd <= 0):
            raise BudgetReached(
                "the limit was reached before the protocol ended.",
                hint="Run the same command with a higher limit to go on.",
            )
        return RunOverrides(
            judge=limits.judge,
            jobs=limits.jobs,
            max_rollouts=rollouts,
            budget_usd=usd,
            task_source=self.benchmark_run.task_source,
        )
