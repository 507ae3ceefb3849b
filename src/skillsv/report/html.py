"""The report: one HTML file that loads nothing, runs no script but its own, and says everything without it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from skillsv import __version__
from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.edit import Confirmation, EditPlan, PruningCurve
from skillsv.model.rollout import Rollout
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Interval, Valuation
from skillsv.report import format as formatting
from skillsv.report.badges import badges
from skillsv.report.chain_views import chain_views, shelf, telling_places
from skillsv.report.edits import revision_hunks, verdict_hunks
from skillsv.report.escape import escape_text
from skillsv.report.figures import (
    Figure,
    anchor_chart,
    chain_grid,
    coalition_chart,
    decision_map,
    pruning_chart,
    pruning_path,
    value_chart,
    value_tree,
)
from skillsv.report.figures.svg import STANDALONE
from skillsv.report.graph import graph_svg
from skillsv.report.marginals import marginals_by_unit
from skillsv.report.source_rows import file_views
from skillsv.report.unit_views import anchors, unit_views

if TYPE_CHECKING:
    from jinja2 import Environment

TRANSCRIPT_LIMIT = 200_000


def page(
    valuation: Valuation,
    compiled: CompiledSkill,
    records: Sequence[ChainRecord],
    *,
    observations: Sequence[Observation] = (),
    curves: Sequence[PruningCurve] = (),
    edits: EditPlan | None = None,
    revised: Mapping[str, bytes] | None = None,
    confirmation: Confirmation | None = None,
    transcripts: Sequence[Rollout] = (),
    limit: int = TRANSCRIPT_LIMIT,
) -> str:
    """The whole report as one HTML text.

    `observations` are what an adaptive run scored, `curves` and `confirmation` the held-out proof, `edits` the pruning
    path, `revised` an editor's new files by path, `transcripts` the rollouts to read; of these as many are embedded as
    `limit` characters allow.
    """
    marginals = marginals_by_unit(records)
    names = anchors(valuation)
    units = unit_views(valuation, compiled, marginals, names)
    books = shelf(transcripts, telling_places(marginals), limit)
    all_curves = (*curves, *(confirmation.curves if confirmation else ()))
    context = {
        **_head(valuation, records, observations),
        "units": units,
        "files": file_views(compiled, units),
        "figures": {
            **_figures(valuation, records, all_curves, edits, names),
            "coalitions": coalition_chart(observations, compiled.everything) if observations else None,
        },
        "graph": Markup(graph_svg(compiled)),  # noqa: S704  (that function escapes what it writes)
        "compiled": compiled,
        "names": names,
        "confirmation": confirmation,
        "hunks": verdict_hunks(valuation, compiled)
        if revised is None
        else revision_hunks(valuation, compiled, revised),
        "chains": chain_views(records, units, books),
        "shelf": books,
    }
    return _environment().get_template("page.html.j2").render(context)


def _head(valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation]) -> dict[str, Any]:
    style, script = _asset("page.css"), _asset("page.js")
    return {
        "version": __version__,
        "style": Markup(style),  # noqa: S704  (our own file)
        "script": Markup(script),  # noqa: S704  (our own file)
        "policy": _policy(style, script),
        "valuation": valuation,
        "title": escape_text(str(valuation.skill.get("name", "skill"))),
        "badges": badges(valuation, records, observations),
        "counts": {
            action: sum(unit.verdict.action is action for unit in formatting.execution(valuation)) for action in Action
        },
        "execution": formatting.execution(valuation),
        "removable": formatting.removable(valuation),
    }


def _figures(
    valuation: Valuation,
    records: Sequence[ChainRecord],
    curves: Sequence[PruningCurve],
    edits: EditPlan | None,
    names: Mapping[str, str],
) -> dict[str, Figure | None]:
    def target(unit: str) -> str | None:
        return f"#{names[unit]}" if unit in names else None

    pruning = None
    if curves:
        pruning = pruning_chart(curves, full=_end(curves, 0.0), trigger=_end(curves, 1.0))
    elif edits is not None and edits.path:
        pruning = pruning_path(edits.path, edits.tokens)
    return {
        "anchors": anchor_chart(valuation),
        "values": value_chart(valuation, target=target),
        "decision": decision_map(valuation, target=target),
        "tree": value_tree(valuation, target=target),
        "pruning": pruning,
        "chains": chain_grid(records) if records else None,
    }


def _end(curves: Sequence[PruningCurve], share: float) -> Interval | None:
    """The held-out score where nothing (0) or everything but the trigger (1) is removed, if a curve reaches there."""
    ends = (point.score for curve in curves for point in curve.points if abs(point.share_removed - share) < 1e-9)
    return next(ends, None)


def _policy(style: str, script: str) -> str:
    """Nothing may load; only the page's own style and script, named by their hashes, may act."""
    rules = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _inline(svg: str) -> Markup:
    """A drawing inside the page: what every saved drawing needs, and the page's style says once, is left out."""
    return Markup(str(svg).replace(STANDALONE, "", 1))  # noqa: S704  (already markup, only shortened)


@cache
def _asset(name: str) -> str:
    return resources.files("skillsv.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(words=formatting)
    environment.filters.update(
        points=formatting.points, interval=formatting.with_bounds, visible=escape_text, inline=_inline
    )
    return environment
