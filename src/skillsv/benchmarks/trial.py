"""One skill and one agent on one benchmark: the paper's settings, and what the whole protocol will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from skillsv.benchmarks.benchmark import Benchmark, Loaded, Source
from skillsv.benchmarks.table import kit_of, variant_of
from skillsv.errors import SettingsError
from skillsv.model.task import Task
from skillsv.pipeline import Again, ConfirmJob, Prepared, ValuationJob
from skillsv.pipeline.confirm import rollouts_to_confirm
from skillsv.pipeline.kit import Grading, Kit
from skillsv.pipeline.rankings import loo_panel
from skillsv.rollout import Forecast
from skillsv.rollout.forecast import Cost
from skillsv.settings import Settings, in_shares, refuse_chain_settings_with_auto, settings_from

OUTPUT_TOKENS = 16_384
"""Tokens of one answer: what the benchmarks' published runs allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
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
    def kit(self) -> Kit:
        """Where the pipeline gets tasks, agent and verifier; the tasks are read already."""
        kit = kit_of(self.benchmark.name, variant_of(self.source))
        return replace(kit, load_tasks=partial(_read_already, self.loaded.tasks))

    @property
    def job(self) -> ValuationJob:
        """The valuation on panel A."""
        return ValuationJob(
            skill=self.skill,
            tasks=self.source.data,
            agent=self.agent,
            settings=self.settings,
            folder=Path.cwd(),
            kit=self.kit,
        )

    def confirmation(self, run: Path, again: Again, skill: Path | None = None) -> ConfirmJob:
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


def forecast_trial(trial: Trial, prepared: Prepared) -> Forecast:
    """The whole protocol: the valuation, the baselines, and everything on panel B."""
    units, panel_b = len(prepared.compiled.execution), len(prepared.panel_b.tasks)
    valued = prepared.forecast

    def whole(cost: Cost, place: int) -> Cost:
        left_out_on = loo_panel(len(prepared.panel_a.tasks), units, cost.rollouts)
        more = rollouts_to_confirm(units, panel_b, left_out_on, trial.confirmation(Path(), Again()))[place]
        more += panel_b if trial.editor else 0
        share = (cost.rollouts + more) / max(cost.rollouts, 1)
        return Cost(
            rollouts=cost.rollouts + more,
            tokens=None if cost.tokens is None else round(cost.tokens * share),
            usd=None if cost.usd is None else cost.usd * share,
            seconds=None if cost.seconds is None else cost.seconds * share,
        )

    return replace(valued, low=whole(valued.low, 0), expected=whole(valued.expected, 0), high=whole(valued.high, 1))
