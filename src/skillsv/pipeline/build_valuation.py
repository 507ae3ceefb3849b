"""The answer: what the records say, with names, tokens and verdicts beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skillsv.decide import verdicts
from skillsv.estimate import EstimateOptions, estimate_chains
from skillsv.estimate.adaptive import ORDERS, estimate_adaptive
from skillsv.model.coalition import Order
from skillsv.model.format import plural
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Estimate, UnitReport, Valuation
from skillsv.order import Sampler
from skillsv.pipeline.job import make_renderer
from skillsv.render import Renderer
from skillsv.settings import Settings, settings_dict

if TYPE_CHECKING:
    from skillsv.pipeline.value import RolloutResult

AVERAGING_STREAM = 2


def build_valuation(compiled: CompiledSkill, settings: Settings, agent: str, rolled: RolloutResult) -> Valuation:
    """Values, intervals and verdicts from what the rollouts gave."""
    renderer = make_renderer(compiled, settings)
    estimate = estimated(compiled, settings, rolled)
    tokens = {unit.id: renderer.tokens_of(unit.id) for unit in compiled.units}
    return Valuation(
        skill=skill_summary(compiled, renderer),
        settings={**settings_dict(settings), "agent": agent},
        estimate=estimate,
        units=unit_reports(compiled, estimate, tokens),
        rollouts=rolled.spending,
        usage=rolled.usage,
        provisional=rolled.trouble is not None,
        notes=(*rolled.notes, *missing_note(rolled), *early_end(rolled)),
    )


def estimated(compiled: CompiledSkill, settings: Settings, rolled: RolloutResult) -> Estimate:
    """The estimate of the method that ran."""
    options = estimate_options(compiled, settings)
    if settings.method == "chain":
        return estimate_chains(compiled, rolled.records, options)
    return estimate_adaptive(compiled, rolled.observations, averaging_orders(compiled, settings), options)


def estimate_options(compiled: CompiledSkill, settings: Settings) -> EstimateOptions:
    """The estimator's part of the settings."""
    return EstimateOptions(
        level=settings.level,
        seed=settings.seed,
        resolution=settings.resolution,
        identical=units_without_bytes(compiled),
    )


def averaging_orders(compiled: CompiledSkill, settings: Settings) -> Sequence[Order]:
    """Orders to average a fitted game over: many, since they cost no rollouts."""
    sampler = Sampler(compiled)
    return [sampler.sample(np.random.default_rng([settings.seed, index, AVERAGING_STREAM])) for index in range(ORDERS)]


def units_without_bytes(compiled: CompiledSkill) -> frozenset[str]:
    """Units that add no byte to any rendering: zero by construction."""
    return frozenset(unit.id for unit in compiled.units if not any(len(extent.span) for extent in unit.extents))


def skill_summary(compiled: CompiledSkill, renderer: Renderer) -> Mapping[str, Any]:
    """What the skill is, in a few figures."""
    return {
        "name": compiled.skill.name,
        "digest": compiled.digest,
        "main": compiled.skill.main,
        "units": len(compiled.units),
        "execution_units": len(compiled.execution),
        "edges": len(compiled.edges),
        "tokens": renderer.total_tokens,
        "files": len(compiled.skill.files),
    }


def unit_reports(compiled: CompiledSkill, estimate: Estimate, tokens: Mapping[str, int]) -> tuple[UnitReport, ...]:
    """One row per execution unit, in document order."""
    values = {value.id: value for value in estimate.units}
    decided = {verdict.unit: verdict for verdict in verdicts(compiled, estimate, tokens)}
    return tuple(
        UnitReport(
            id=unit.id,
            kind=unit.kind,
            form=unit.form,
            file=unit.file,
            span=unit.span,
            lines=unit.lines,
            section=unit.section,
            tokens=tokens[unit.id],
            needs=compiled.needs[unit.id],
            text=text_of(compiled, unit.id),
            value=values[unit.id],
            verdict=decided[unit.id],
        )
        for unit in compiled.units
        if unit.id in values
    )


def text_of(compiled: CompiledSkill, unit_id: str) -> str:
    """The unit's own words; nothing for what is not text."""
    parts = []
    for extent in compiled.unit[unit_id].extents:
        data = compiled.skill.file(extent.file).data or b""
        parts.append(data[extent.span.start : extent.span.end].decode("utf-8", errors="replace"))
    return "\n".join(parts)


def missing_note(rolled: RolloutResult) -> tuple[str, ...]:
    """Which tasks have answers that never came: no value rests on those."""
    tasks = {item.task for item in rolled.observations if item.score is None}
    for record in rolled.records:
        columns = (record.empty, record.full, *record.trigger, *(step.scores for step in record.steps))
        tasks |= {
            task
            for scores in columns
            for task, score in zip(record.plan.window.tasks, scores, strict=True)
            if score is None
        }
    if not tasks:
        return ()
    shown = ", ".join(sorted(tasks)[:8]) + (f" and {len(tasks) - 8} more" if len(tasks) > 8 else "")
    return (f"Some answers are missing and were left out on both sides, never scored 0. Tasks: {shown}.",)


def early_end(rolled: RolloutResult) -> tuple[str, ...]:
    """A sentence about a run that stopped before its end."""
    if rolled.trouble is None:
        return ()
    done = (
        plural(len(rolled.records), "finished chain") if rolled.records else plural(len(rolled.observations), "answer")
    )
    return (f"This is a partial result of {done}: {rolled.trouble.what}",)
