"""The matrix of units and agents, from the runs of one skill with several agents on the same tasks. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from skillsv.confirmation import Gate
from skillsv.confirmation.agreement import agreements
from skillsv.decide.agent_effects import effect_of, find_disagreements, pattern_of, removal_orders
from skillsv.decide.deletion_sets import DeletionSet, candidate_sets, find_kept
from skillsv.errors import RecordsError
from skillsv.estimate.adaptive.deciding_pairs import find_steady_scores
from skillsv.model.coalition import AgentPrior, Operator, Rendering
from skillsv.model.matrix_document import (
    MatrixAgentDocument,
    MatrixDocument,
    MatrixSkillDocument,
    MatrixUnitDocument,
)
from skillsv.model.valuation_document import EffectDocument, SkillSummary
from skillsv.model.value import Interval, Ranking
from skillsv.pipeline.deletion_choice import keeps_gains
from skillsv.pipeline.job import PreparedRun, with_recorded_prior
from skillsv.pipeline.run import Run
from skillsv.pipeline.set_prediction import PredictChanges, make_change_predictor
from skillsv.report.sentences import all_notes
from skillsv.report.valuation_json import anchors_dict, finite, interval_dict, rollouts_dict, usage_dict
from skillsv.rollout import RunFolder

MATRIX_SCHEMA: Literal["skillsv.matrix/1"] = "skillsv.matrix/1"
"""The schema of the JSON of a matrix."""

AGREEMENT_STREAM = 23
"""Random stream of the permutations that test whether two rankings agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """The run of one agent. `run` is None where it has no values; `error` says why, or what ended it early."""

    name: str
    spec: str
    folder: str
    run: Run | None
    error: str | None = None


def build_matrix(columns: Sequence[AgentRun], *, max_drop: float, notes: Sequence[str] = ()) -> MatrixDocument:
    """The document of all runs. Raises RecordsError where no agent has values, or the runs are not comparable."""
    valued = {column.name: column.run for column in columns if column.run is not None}
    if not valued:
        raise RecordsError("no agent has values.", hint="The errors of the agents say why.")
    runs = list(valued.values())
    _require_comparable(runs)
    first = runs[0]
    rng = np.random.default_rng([first.settings.seed, AGREEMENT_STREAM])
    predictors = {name: make_change_predictor(run) for name, run in valued.items()}
    skills = [
        _smallest_skill({name: valued[name] for name in names}, predictors, max_drop)
        for names in (tuple(valued), *((name,) for name in valued))
    ]
    return {
        "schema": MATRIX_SCHEMA,
        "skill": first.valuation.skill,
        "tasks": len(first.manifest["panel_a"]),
        "level": first.settings.level,
        "max_drop": max_drop,
        "agents": [_agent(column) for column in columns],
        "units": _units(valued),
        "agreements": [
            {
                "first": pair.first,
                "second": pair.second,
                "tau": finite(pair.tau),
                "p": finite(pair.p),
                "p_holm": finite(pair.p_holm),
            }
            for pair in agreements([_ranking(name, run) for name, run in valued.items()], rng)
        ],
        "shared": skills[0],
        "for_each": skills[1:],
        "notes": [*notes, *_notes(valued)],
    }


def empty_matrix(
    columns: Sequence[AgentRun], prepared: PreparedRun, skill: SkillSummary, *, max_drop: float
) -> MatrixDocument:
    """The document where no agent has values: the errors of the agents, and no units."""
    return {
        "schema": MATRIX_SCHEMA,
        "skill": skill,
        "tasks": len(prepared.panel_a.tasks),
        "level": prepared.job.settings.level,
        "max_drop": max_drop,
        "agents": [_agent(column) for column in columns],
        "units": [],
        "agreements": [],
        "shared": {"agents": [], "removed": [], "tokens_after": prepared.renderer.total_tokens, "predicted": []},
        "for_each": [],
        "notes": [],
    }


def _require_comparable(runs: Sequence[Run]) -> None:
    """Raise RecordsError unless all runs are of the same skill and tasks."""
    first = runs[0]
    for run in runs[1:]:
        if run.compiled.digest != first.compiled.digest or run.manifest["panel_a"] != first.manifest["panel_a"]:
            raise RecordsError(
                "the runs of the agents are not of the same skill and tasks.",
                hint="Run the matrix again with --fresh, or in another --run-dir.",
            )


def _agent(column: AgentRun) -> MatrixAgentDocument:
    run = column.run
    valuation = None if run is None else run.valuation
    estimate = None if valuation is None else valuation.estimate
    return {
        "name": column.name,
        "spec": column.spec,
        "folder": column.folder,
        "noisy": run is not None and is_noisy(run),
        "provisional": valuation is None or valuation.provisional,
        "error": column.error,
        "anchors": None if estimate is None else anchors_dict(estimate.anchors),
        "content_lift": None if estimate is None else interval_dict(estimate.content_lift),
        "rollouts": None if valuation is None else rollouts_dict(valuation.rollouts),
        "usage": None if valuation is None else usage_dict(valuation.usage),
    }


def is_noisy(run: Run) -> bool:
    """Whether the agent of an adaptive run was treated as noisy."""
    return any(item.agent_is_noisy for item in run.observations)


def prior_of(runs: Sequence[Run]) -> AgentPrior:
    """What these agents showed, for the next agent: all scores of steady agents, and the values of all."""
    return AgentPrior(
        scores=tuple(find_steady_scores(run.observations) for run in runs if run.observations and not is_noisy(run)),
        values=tuple({unit.id: unit.value.net_or_zero.value for unit in run.valuation.units} for run in runs),
    )


def with_prior(prepared: PreparedRun, folder: RunFolder, prior: AgentPrior) -> PreparedRun:
    """The run with what other agents showed. A run that goes on keeps what it began with: its path depends on it."""
    if prepared.job.settings.method != "auto":
        return prepared
    return with_recorded_prior(replace(prepared, prior=prior), folder)


def _units(valued: Mapping[str, Run]) -> list[MatrixUnitDocument]:
    first = next(iter(valued.values()))
    reports = {name: {unit.id: unit for unit in run.valuation.units} for name, run in valued.items()}
    differing = find_disagreements([run.valuation.estimate for run in valued.values()], first.settings.level)
    rows: list[MatrixUnitDocument] = []
    for unit in first.valuation.units:
        mine = {name: column[unit.id] for name, column in reports.items()}
        effects = {name: effect_of(report.value) for name, report in mine.items()}
        values = [report.net.value for report in mine.values() if report.value.has_value]
        rows.append(
            {
                "id": unit.id,
                "file": unit.file,
                "lines": [unit.lines.first, unit.lines.last],
                "section": list(unit.section),
                "tokens": unit.tokens,
                "text": unit.text,
                "cells": [
                    {
                        "agent": name,
                        "net": interval_dict(report.value.on_panel),
                        "effect": effects[name],
                        "verdict": report.verdict.action.value,
                    }
                    for name, report in mine.items()
                ],
                "pattern": pattern_of(effects.values()),
                "disagree": unit.id in differing,
                "differ": unit.id in differing,
                "spread": max(values) - min(values) if values else 0.0,
            }
        )
    return rows


def _ranking(name: str, run: Run) -> Ranking:
    return Ranking(method=name, values={unit.id: unit.value.net_or_zero for unit in run.valuation.units})


def _smallest_skill(
    runs: Mapping[str, Run], predictors: Mapping[str, PredictChanges], max_drop: float
) -> MatrixSkillDocument:
    """The skill with the fewest tokens that is predicted to lose no more than `max_drop` for each of these agents.

    The lower end of every prediction must stay above the loss, and the mean over the agents near that of the best set:
    what the removal of harm gains is not spent. A unit that some agent has no value for stays.
    """
    first = next(iter(runs.values()))
    columns = [run.valuation.units for run in runs.values()]
    orders, groups = removal_orders(first.compiled, columns, find_kept(first.compiled, ()))
    options: list[DeletionSet] = [frozenset(), *candidate_sets(orders, groups)]
    changes = {name: predictors[name](options) for name in runs}
    safe = [place for place in range(len(options)) if all(row[place].low >= -max_drop for row in changes.values())]
    drops = -np.mean([[row[place].value for place in safe] for row in changes.values()], axis=0)
    kept = keeps_gains(drops, Gate(max_drop=max_drop), float(drops.min(initial=0.0)))
    allowed = [place for place, keeps in zip(safe, kept.tolist(), strict=True) if keeps]
    tokens = {place: first.renderer.tokens_left(first.compiled.everything - options[place]) for place in allowed}
    best = min(tokens, key=lambda place: (tokens[place], place), default=0)
    return {
        "agents": list(runs),
        "removed": [unit for unit in first.compiled.execution if unit in options[best]],
        "tokens_after": tokens.get(best, first.renderer.total_tokens),
        "predicted": [{"agent": name, "change": _within_range(row[best])} for name, row in changes.items()],
    }


def _within_range(change: Interval) -> EffectDocument:
    """A predicted change within [-1, 1], as all changes of a score are."""
    value, low, high = (max(-1.0, min(1.0, end)) for end in (change.value, change.low, change.high))
    return {"value": finite(value), "low": low, "high": high}


def shorter_rendering(run: Run, skill: MatrixSkillDocument) -> Rendering:
    """All files of a shorter skill of the matrix."""
    return run.renderer.render(run.compiled.everything - frozenset(skill["removed"]), Operator.DELETE)


def _notes(valued: Mapping[str, Run]) -> list[str]:
    """The notes of each run and of its estimate, each once and with the agents that it is about."""
    about: dict[str, list[str]] = {}
    for name, run in valued.items():
        for note in all_notes(run.valuation):
            about.setdefault(note, []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in about.items()]
