"""The paper's protocol on one benchmark, every step in its order.

value       estimate on panel A
leave_out   Closure-LOO on panel A; the judge and chance cost little or nothing
confirm     anchors and pruning curves of all methods on panel B
refine      one rewriting by an editor, if there is one, and old against new on panel B
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillsv.agents.editor import make_editor
from skillsv.confirm import Proof
from skillsv.errors import BudgetReached, SettingsError
from skillsv.model.events import Event, RolloutFinished
from skillsv.model.protocols import Listener
from skillsv.model.task import Task
from skillsv.model.value import Interval
from skillsv.pipeline import (
    ConfirmJob,
    PreparedRun,
    Run,
    RunOverrides,
    ValuationJob,
    build_valuation,
    confirm_versions,
    keep_proof,
    load_run,
    prepare_confirmation,
    publish,
    refine_with,
    roll_out,
)
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.confirm import rollouts_to_confirm
from skillsv.pipeline.job import Grading, TaskSource
from skillsv.pipeline.rankings import leave_out, loo_panel
from skillsv.pipeline.run import reopen
from skillsv.rollout import Forecast, RunFolder, Stop
from skillsv.rollout.forecast import Cost
from skillsv.rollout.run_folder import run_id
from skillsv.sandbox.workspace import write_tree
from skillsv.settings import Settings, in_shares, refuse_chain_settings_with_auto, settings_from
from skillsv_bench.benchmark import Benchmark, Loaded, Source
from skillsv_bench.registry import find_source, variant_of

# One skill and one agent on one benchmark: the paper's settings, and what the whole protocol will cost.

OUTPUT_TOKENS = 16_384
"""Tokens of one answer: what the benchmarks' published runs allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun:
    """One skill and one agent on one benchmark."""

    benchmark: Benchmark
    source: Source
    loaded: Loaded
    skill: Path
    agent: str
    settings: Settings = field(default_factory=Settings)
    checkpoints: int = 10
    editor: str | None = None

    @property
    def curves(self) -> tuple[str, ...]:
        """The methods that are compared: the paper's four, the judge only where there is one."""
        return ("skillsv", "loo", *(("judge",) if self.settings.judge else ()), "random")

    @property
    def task_source(self) -> TaskSource:
        """Where the pipeline gets tasks, agent and verifier; the tasks are read already."""
        found = find_source(self.benchmark.name, variant_of(self.source))
        assert found is not None, self.benchmark.name
        return replace(found, load_tasks=partial(_read_already, self.loaded.tasks))

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

    def confirmation(self, run: Path, again: RunOverrides, skill: Path | None = None) -> ConfirmJob:
        """What is scored on panel B."""
        curves = self.curves if skill is None else ()
        return ConfirmJob(
            run=run,
            again=again,
            skill=skill,
            curves=curves,
            checkpoints=self.checkpoints,
            level=self.settings.level,
        )


def _read_already(tasks: Sequence[Task], data: Path, grading: Grading) -> Sequence[Task]:
    del data, grading
    return tasks


def paper_settings(benchmark: Benchmark, tasks: int, given: Mapping[str, Any]) -> tuple[Settings, tuple[str, ...]]:
    """The paper's settings, overridden by what was given; and what differs where there are too few tasks for them."""
    refuse_chain_settings_with_auto(given)
    paper = benchmark.paper
    panels, notes = _panels(benchmark, tasks) if not {"panel_a", "panel_b"} & given.keys() else ({}, ())
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


def _panels(benchmark: Benchmark, tasks: int) -> tuple[Mapping[str, int], tuple[str, ...]]:
    a, b = benchmark.paper.panel_a, benchmark.paper.panel_b
    if tasks >= a + b:
        return {"panel_a": a, "panel_b": b}, ()
    if tasks < 2:
        raise SettingsError(f"{tasks} tasks cannot be split into two panels.", hint="Choose another --split.")
    fewer = max(1, tasks * a // (a + b))
    note = f"{tasks} tasks are too few for the paper's panels of {a} and {b}: they are {fewer} and {tasks - fewer}."
    return {"panel_a": fewer, "panel_b": tasks - fewer}, (note,)


def forecast_benchmark(benchmark_run: BenchmarkRun, prepared: PreparedRun) -> Forecast:
    """The whole protocol: the valuation, the baselines, and everything on panel B."""
    units, panel_b = len(prepared.compiled.execution), len(prepared.panel_b.tasks)
    valued = prepared.forecast

    def whole(cost: Cost, place: int) -> Cost:
        left_out_on = loo_panel(len(prepared.panel_a.tasks), units, cost.rollouts)
        more = rollouts_to_confirm(units, panel_b, left_out_on, benchmark_run.confirmation(Path(), RunOverrides()))[
            place
        ]
        more += panel_b if benchmark_run.editor else 0
        share = (cost.rollouts + more) / max(cost.rollouts, 1)
        return Cost(
            rollouts=cost.rollouts + more,
            tokens=None if cost.tokens is None else round(cost.tokens * share),
            usd=None if cost.usd is None else cost.usd * share,
            seconds=None if cost.seconds is None else cost.seconds * share,
        )

    return replace(valued, low=whole(valued.low, 0), expected=whole(valued.expected, 0), high=whole(valued.high, 1))


REFINED = "refined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A rewritten skill and how it did on panel B."""

    tokens_before: int
    tokens_after: int
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResult:
    """Everything that the protocol found."""

    run: Run
    loo_total: Interval
    loo_tasks: int
    proof: Proof
    refined: Refined | None = None


@dataclass(slots=True)
class SharedBudget:
    """What one command has spent, over all steps: its limits hold for the protocol as a whole."""

    benchmark_run: BenchmarkRun
    listener: Listener
    rollouts: int = 0
    usd: float = 0.0

    def __call__(self, event: Event) -> None:
        """Count what was paid for, and pass the event on."""
        if isinstance(event, RolloutFinished) and not event.reused:
            self.rollouts += 1
            self.usd += event.usage.usd or 0.0
        self.listener(event)

    def again(self) -> RunOverrides:
        """The same tasks and agent for the next step, and what is left to spend on it."""
        limits = self.benchmark_run.settings
        rollouts = None if limits.max_rollouts is None else limits.max_rollouts - self.rollouts
        usd = None if limits.budget_usd is None else limits.budget_usd - self.usd
        if (rollouts is not None and rollouts < 1) or (usd is not None and usd <= 0):
            raise BudgetReached(
                "the limit is used up before the protocol is.", hint="The same command with a higher one goes on."
            )
        return RunOverrides(
            judge=limits.judge,
            jobs=limits.jobs,
            max_rollouts=rollouts,
            budget_usd=usd,
            task_source=self.benchmark_run.task_source,
        )


async def value(
    benchmark_run: BenchmarkRun,
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
    *,
    keep_going: bool = False,
) -> Run:
    """Estimate on panel A. What ended it early is raised: the protocol goes on from there when it is run again."""
    rolled = await roll_out(prepared, folder, listener, stop, keep_going=keep_going)
    if rolled.trouble is not None:
        if not rolled.nothing:
            valuation = build_valuation(prepared.compiled, benchmark_run.settings, benchmark_run.agent, rolled)
            publish(folder, replace(load_run(folder.path), valuation=valuation))
        raise rolled.trouble
    return load_run(folder.path)


async def run_benchmark(
    benchmark_run: BenchmarkRun,
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
    *,
    keep_going: bool = False,
) -> BenchmarkResult:
    """The whole protocol. Every rollout goes to the run's ledger, so that the same command again resumes."""
    budget = SharedBudget(benchmark_run, listener)
    run = await value(benchmark_run, prepared, folder, budget, stop, keep_going=keep_going)
    left_out = await leave_out(reopen(folder.path, budget.again()), budget, stop)
    held_out = prepare_confirmation(benchmark_run.confirmation(folder.path, budget.again()))
    proof = await confirm_versions(held_out, budget, stop)
    keep_proof(held_out, proof)
    publish(folder, run)
    refined = await _refined(benchmark_run, run, folder, budget, stop) if benchmark_run.editor else None
    return BenchmarkResult(run=run, loo_total=left_out.total, loo_tasks=left_out.tasks, proof=proof, refined=refined)


async def _refined(
    benchmark_run: BenchmarkRun, run: Run, folder: RunFolder, budget: SharedBudget, stop: Stop
) -> Refined:
    """One rewriting. It is kept in the run folder, and an editor is not asked again for what it has answered."""
    assert benchmark_run.editor is not None
    place = folder.path / REFINED / digest_of(benchmark_run.editor, run)
    if not place.exists():
        editor = make_client(make_editor, benchmark_run.editor, benchmark_run.settings, benchmark_run.job.folder)
        revision = await refine_with(run, editor, folder)
        write_tree(revision.after, place)
    main = place / run.compiled.skill.main if run.compiled.skill.single_file else place
    prepared = prepare_confirmation(benchmark_run.confirmation(folder.path, budget.again(), main))
    proof = await confirm_versions(prepared, budget, stop)
    versions = prepared.versions
    return Refined(tokens_before=versions.tokens_old, tokens_after=versions.tokens_new, proof=proof)


def digest_of(editor: str, run: Run) -> str:
    """Names what an editor was asked: by whom, and about which run."""
    return hashlib.sha256(f"{editor}\n{run_id(run.manifest)}".encode()).hexdigest()[:16]
