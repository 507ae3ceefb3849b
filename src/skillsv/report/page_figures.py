"""The drawings of the page, by name; None for a drawing that has no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.edit import Confirmation, EditPlan, PruningCurve
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval, Valuation
from skillsv.report.edits import ShorterSkill
from skillsv.report.evidence import Evidence
from skillsv.report.figures import (
    Figure,
    chain_grid,
    coalition_chart,
    concentration_chart,
    decision_map,
    has_context_cost,
    margin_scale,
    minimap,
    pruning_chart,
    pruning_path,
    section_list,
    task_matrix,
    value_chart,
    waterfall,
)
from skillsv.report.line_names import LineNames
from skillsv.report.sentences import execution_units, net_effects
from skillsv.report.unit_views import value_span


def page_figures(
    valuation: Valuation,
    compiled: CompiledSkill,
    *,
    records: Sequence[ChainRecord],
    observations: Sequence[Observation],
    curves: Sequence[PruningCurve],
    edits: EditPlan | None,
    shorter: ShorterSkill | None,
    confirmation: Confirmation | None,
    evidence: Evidence,
    anchors: Mapping[str, str],
    names: LineNames,
) -> dict[str, Figure | Markup | None]:
    """All drawings of the page; `anchors` are the element ids that a click on a unit leads to."""

    def target(unit: str) -> str | None:
        return f"#{anchors[unit]}" if unit in anchors else None

    units = execution_units(valuation)
    return {
        "waterfall": waterfall(valuation, target=target),
        "concentration": concentration_chart(valuation, target=target) if _has_gain(valuation) else None,
        "values": value_chart(valuation, target=target),
        "decision": decision_map(valuation, target=target) if has_context_cost(valuation) else None,
        "sections": section_list(valuation, target=target),
        "tasks": task_matrix(valuation, evidence, target=target),
        "pruning": (
            _measured_curves(curves, shorter, confirmation)
            if curves
            else _predicted_path(valuation, edits, shorter, confirmation, names)
        ),
        "chains": chain_grid(records) if records else None,
        "coalitions": coalition_chart(observations, compiled.everything, names) if observations else None,
        "minimap": minimap([unit.verdict.action for unit in units]),
        "scale": margin_scale(value_span(valuation)),
    }


def _has_gain(valuation: Valuation) -> bool:
    return any(value > 0 for value in net_effects(valuation).values())


def _measured_curves(
    curves: Sequence[PruningCurve], shorter: ShorterSkill | None, confirmation: Confirmation | None
) -> Figure:
    """The curves on panel B, with the shorter skill where panel B has measured it."""
    chosen = None
    if shorter is not None and shorter.removed and shorter.confirmed and confirmation is not None:
        chosen = (shorter.share_removed, confirmation.new.value)
    full, trigger = _score_at(curves, 0.0), _score_at(curves, 1.0)
    label = "shorter skill, confirmed" if chosen else "shorter skill"
    return pruning_chart(curves, full=full, trigger=trigger, chosen=chosen, chosen_label=label)


def _predicted_path(
    valuation: Valuation,
    edits: EditPlan | None,
    shorter: ShorterSkill | None,
    confirmation: Confirmation | None,
    names: LineNames,
) -> Figure | None:
    """What the values predict of every length, with the shorter skill."""
    if edits is None or not edits.path:
        return None
    proved = shorter is not None and shorter.confirmed and confirmation is not None
    return pruning_path(
        edits.path,
        edits.tokens,
        names=names,
        actions={unit.id: unit.verdict.action for unit in valuation.units},
        chosen=(shorter.share_removed, shorter.expected_change) if shorter and shorter.removed else None,
        measured=confirmation.delta if proved and confirmation else None,
    )


def _score_at(curves: Sequence[PruningCurve], share: float) -> Interval | None:
    """The held-out score where nothing (0) or everything but the trigger (1) is removed, if a curve has that point."""
    scores = (point.score for curve in curves for point in curve.points if abs(point.share_removed - share) < 1e-9)
    return next(scores, None)
