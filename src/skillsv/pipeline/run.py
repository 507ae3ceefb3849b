"""A run on disk, read again at any moment, also while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillsv.compile import compile_skill
from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.format import count
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Spending, Valuation
from skillsv.pipeline.build_valuation import build_valuation
from skillsv.pipeline.value import RolloutResult
from skillsv.rollout import RunFolder
from skillsv.settings import BEFORE_ADDED, Settings, compile_options, settings_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run, finished or not: everything that estimating, drawing and editing need."""

    compiled: CompiledSkill
    settings: Settings
    records: tuple[ChainRecord, ...]
    observations: tuple[Observation, ...]
    valuation: Valuation
    manifest: Mapping[str, Any]


def load_run(path: Path, changes: Mapping[str, Any] | None = None) -> Run:
    """Read a run folder and estimate from its records. `changes` are settings of the estimate, such as the level."""
    folder = RunFolder(path)
    found = manifest_of(folder)
    recorded = {**found["settings"], **found["about"]["settings"]}
    settings = settings_from({**BEFORE_ADDED, **recorded, **(changes or {})})
    compiled = snapshot(folder, found["skill"], settings)
    rolled = RolloutResult(
        records=tuple(folder.chains().values()),
        observations=tuple(folder.observations()),
        spending=spending_of(folder, found),
        usage=folder.status().usage,
        notes=folder.notes(),
    )
    if rolled.nothing:
        raise RecordsError(
            f"no chain or round of this run is complete yet; {count(rolled.spending.spent)} rollouts are kept.",
            where=str(path),
            hint="Run the same 'skillsv value' again: it goes on from there.",
        )
    valuation = build_valuation(compiled, settings, found["agent"]["spec"], rolled)
    unfinished = settings.method == "chain" and len(rolled.records) < settings.orders
    return Run(
        compiled=compiled,
        settings=settings,
        records=rolled.records,
        observations=rolled.observations,
        valuation=replace(valuation, provisional=unfinished),
        manifest=found,
    )


def recorded_settings(run: Run) -> Settings:
    """The settings of a run, for a command in any folder: the files that they name are found from where it was made."""
    settings, folder = run.settings, Path(run.manifest["about"]["folder"])
    prices, logs = (None if path is None else str(folder / path) for path in (settings.prices, settings.inspect_logs))
    return replace(settings, prices=prices, inspect_logs=logs)


def manifest_of(folder: RunFolder) -> Mapping[str, Any]:
    """What the run in this folder is."""
    found = folder.manifest()
    if found is None:
        raise RecordsError(
            "there is no run in this folder.", where=str(folder.path), hint="Begin one with 'skillsv value'."
        )
    return found


def snapshot(folder: RunFolder, described: Mapping[str, Any], settings: Settings) -> CompiledSkill:
    """The skill as it was valued, compiled from the copy in the run folder."""
    place = folder.skill / described["main"] if described["single_file"] else folder.skill
    compiled = compile_skill(place, compile_options(settings))
    return replace(compiled, skill=replace(compiled.skill, name=described["name"]))


def spending_of(folder: RunFolder, found: Mapping[str, Any]) -> Spending:
    """What the run has spent so far, all sessions together."""
    status = folder.status()
    announced = found["about"]["forecast"]
    return Spending(
        spent=status.rollouts, reused=status.reused, failed=status.missing, forecast=announced, cut=status.cut
    )
