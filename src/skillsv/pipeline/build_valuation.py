"""The valuation of a run: values, intervals and verdicts from what the rollouts gave. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skillsv.decide import find_reached_files, verdicts
from skillsv.errors import SkillSVError
from skillsv.estimate import EstimateOptions, estimate_chains
from skillsv.estimate.adaptive import count_averaged_orders, estimate_adaptive
from skillsv.model.coalition import AgentPrior, ChainRecord, Observation, Order, PanelAnchors
from skillsv.model.format import plural
from skillsv.model.rollout import Usage
from skillsv.model.skill import CompiledSkill
from skillsv.model.valuation_document import SkillSummary
from skillsv.model.value import ChainCost, Estimate, Spending, UnitReport, Valuation
from skillsv.order import Sampler
from skillsv.pipeline.job import make_renderer
from skillsv.rendering import Renderer
from skillsv.rollout.forecast import GAMMA_HIGH, chain_rollouts
from skillsv.settings import Settings, run_settings

AVERAGING_STREAM = 2
"""Random stream of the orders that a fitted game is averaged over; the streams 0 and 1 belong to the chains."""

MOST_NAMED_TASKS = 8
"""Tasks without an answer that the note about them names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    """What the rollouts gave: chains and anchors on the panel, or observations. `error` is what ended them early.

    `prior` is what other agents had shown when the run began. `attempts` are those of this session, retries included.
    """

    records: tuple[ChainRecord, ...] = ()
    panel_anchors: PanelAnchors | None = None
    observations: tuple[Observation, ...] = ()
    spending: Spending
    usage: Usage
    notes: tuple[str, ...] = ()
    error: SkillSVError | None = None
    prior: AgentPrior = field(default_factory=AgentPrior)
    attempts: int = 0

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to estimate from."""
        return not (self.records or self.observations)


def build_valuation(
    compiled: CompiledSkill,
    settings: Settings,
    agent: str,
    result: RolloutResult,
    *,
    renderer: Renderer | None = None,
    panel: int = 0,
    strata: Mapping[str, str] | None = None,
) -> Valuation:
    """Values, intervals and verdicts from what the rollouts gave. `renderer`: the one of the run, if there is one.

    `panel` is the number of tasks of panel A, 0 for those that were asked; `strata` are the strata of its tasks.
    """
    renderer = renderer or make_renderer(compiled, settings)
    options = replace(estimate_options(compiled, settings, result.prior), panel=panel, strata=strata or {})
    estimate = _estimate(compiled, settings, result, options)
    tokens = {unit.id: renderer.tokens_of(unit.id) for unit in compiled.units}
    return Valuation(
        skill=skill_summary(compiled, renderer),
        settings={**run_settings(settings), "agent": agent},
        estimate=estimate,
        units=_unit_reports(compiled, estimate, tokens),
        rollouts=result.spending,
        usage=result.usage,
        provisional=result.error is not None,
        chain_cost=_chain_cost(compiled, estimate, result),
        full_digests={
            operator.value: renderer.render(compiled.everything, operator).digest for operator in settings.operators
        },
        notes=(*result.notes, *_missing_answers_note(result), *early_end_note(result)),
    )


def _chain_cost(compiled: CompiledSkill, estimate: Estimate, result: RolloutResult) -> ChainCost | None:
    """What the chains cost by the paper's formula, and what they would have cost without windows and truncation."""
    gamma, records = estimate.truncation_share, result.records
    if gamma is None:
        return None
    plan, units = records[0].plan, len(compiled.units)
    operators, window = len(plan.operators), len(plan.window.tasks)
    panel = None if result.panel_anchors is None else len(result.panel_anchors.tasks)
    return ChainCost(
        gamma=gamma,
        rollouts=chain_rollouts(units, window, len(records), operators, gamma),
        full_rollouts=None if panel is None else chain_rollouts(units, panel, len(records), operators, GAMMA_HIGH),
    )


def _estimate(compiled: CompiledSkill, settings: Settings, result: RolloutResult, options: EstimateOptions) -> Estimate:
    """The estimate of the method that ran."""
    if settings.method == "chain":
        return estimate_chains(compiled, result.records, options, panel=result.panel_anchors)
    return estimate_adaptive(compiled, result.observations, averaging_orders(compiled, settings), options)


def estimate_options(compiled: CompiledSkill, settings: Settings, prior: AgentPrior | None = None) -> EstimateOptions:
    """The part of the settings that the estimator reads, with what other agents showed."""
    return EstimateOptions(
        level=settings.level,
        seed=settings.seed,
        resolution=settings.resolution,
        identical=_units_without_bytes(compiled),
        prior=() if prior is None else prior.values,
        earlier_scores=() if prior is None else prior.scores,
    )


def averaging_orders(compiled: CompiledSkill, settings: Settings) -> Sequence[Order]:
    """Orders to average a fitted game over: many, because they cost no rollouts; fewer for hundreds of units."""
    sampler = Sampler(compiled)
    count = count_averaged_orders(len(compiled.execution))
    return [sampler.sample(np.random.default_rng([settings.seed, index, AVERAGING_STREAM])) for index in range(count)]


def _units_without_bytes(compiled: CompiledSkill) -> frozenset[str]:
    """Units that add no byte to any rendering: their value is zero by construction."""
    return frozenset(unit.id for unit in compiled.units if not any(len(extent.span) for extent in unit.extents))


def skill_summary(compiled: CompiledSkill, renderer: Renderer) -> SkillSummary:
    """Name, digest and sizes of the skill."""
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


def _unit_reports(compiled: CompiledSkill, estimate: Estimate, tokens: Mapping[str, int]) -> tuple[UnitReport, ...]:
    """One row per execution unit, in document order."""
    values = {value.id: value for value in estimate.units}
    verdict_of = {verdict.unit: verdict for verdict in verdicts(compiled, estimate, tokens)}
    reached = find_reached_files(compiled, values)
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
            verdict=verdict_of[unit.id],
            reaches=reached.get(unit.id),
        )
        for unit in compiled.units
        if unit.id in values
    )


def text_of(compiled: CompiledSkill, unit_id: str) -> str:
    """The text of a unit; empty for a unit of a file that is not loaded."""
    parts = []
    for extent in compiled.unit[unit_id].extents:
        data = compiled.skill.file(extent.file).data or b""
        parts.append(data[extent.span.start : extent.span.end].decode("utf-8", errors="replace"))
    return "\n".join(parts)


def _missing_answers_note(result: RolloutResult) -> tuple[str, ...]:
    """Which tasks have no answer in some rollouts: these rollouts count for no value."""
    tasks = {observation.task for observation in result.observations if observation.score is None}
    for record in result.records:
        columns = (record.empty, record.full, *record.trigger, *(step.scores for step in record.steps))
        tasks |= {
            task
            for scores in columns
            for task, score in zip(record.plan.window.tasks, scores, strict=True)
            if score is None
        }
    if (panel := result.panel_anchors) is not None:
        rows = zip(panel.tasks, panel.empty, panel.trigger, panel.full, strict=True)
        tasks |= {task for task, *scores in rows if None in scores}
    if not tasks:
        return ()
    named, more = sorted(tasks)[:MOST_NAMED_TASKS], len(tasks) - MOST_NAMED_TASKS
    listed = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    return (f"Some answers are missing and were left out on both sides, never scored 0. Tasks: {listed}.",)


def early_end_note(result: RolloutResult) -> tuple[str, ...]:
    """A sentence about a run that stopped before its end."""
    if result.error is None:
        return ()
    done = (
        plural(len(result.records), "finished chain") if result.records else plural(len(result.observations), "answer")
    )
    return (f"This is a partial result of {done}: {result.error.what}",)
