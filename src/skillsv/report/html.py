"""The report page: one HTML file that loads nothing from the network and can be read without its script.

`page` collects what the template shows; the template is `assets/page.html.j2`, with `page.css` and `page.js` beside it.

To add a panel:

1. A drawing: write a function in `figures/` that takes finished data and returns a `Figure`, export it in
   `figures/__init__.py`, and add it to `_figures` below. Text and tables: write a view, a frozen dataclass of escaped
   text as in `unit_views.py`, and add it to the context in `page`.
2. In `assets/page.html.j2` add `<section id="NAME" aria-labelledby="NAME-title">` with an `<h2>`; `{{ chart(figure) }}`
   shows a figure with its caption, its table and its buttons for saving. A panel without data says which command
   fills it. Add the section to the list of links in `<nav>`.
3. A new sentence goes into `sentences.py`, a new format of numbers into `skillsv.model.format`. The template knows the
   functions and filters that `_environment` lists.
4. Add the panel to `PANELS` in `tests/report/test_browser.py`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.edit import Confirmation, EditPlan, PruningCurve
from skillsv.model.format import bounds, count, plural, points, task_score, with_bounds
from skillsv.model.rollout import Rollout
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Interval, Valuation
from skillsv.report.chain_views import chain_views, choose_transcripts, find_informative_rollouts
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
from skillsv.report.file_views import file_views
from skillsv.report.graph import graph_svg
from skillsv.report.marginals import marginals_by_unit
from skillsv.report.page_checks import page_checks
from skillsv.report.sentences import (
    all_notes,
    closure_sentence,
    concentration_sentence,
    execution_units,
    lift_sentence,
    proof_sentence,
    removable_units,
    saving_sentence,
    spending_parts,
    total_tokens,
)
from skillsv.report.unit_views import anchors_by_unit, unit_views
from skillsv.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

TRANSCRIPT_LIMIT = 200_000
"""Characters of transcripts in one page, so that it opens at once and can be sent by mail."""


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

    `observations` are the scores of an adaptive run, `curves` and `confirmation` the scores on held-out tasks, `edits`
    the pruning path, `revised` an editor's new files by path, `transcripts` the rollouts to choose from; as many of
    them are embedded as `limit` characters allow.
    """
    marginals = marginals_by_unit(records)
    unit_anchors = anchors_by_unit(valuation)
    units = unit_views(valuation, compiled, marginals, unit_anchors)
    chosen = choose_transcripts(transcripts, find_informative_rollouts(marginals), limit)
    all_curves = (*curves, *(confirmation.curves if confirmation else ()))
    context = {
        **_head(valuation, records, observations),
        "units": units,
        "files": file_views(compiled, units),
        "figures": {
            **_figures(valuation, records, all_curves, edits, unit_anchors),
            "coalitions": coalition_chart(observations, compiled.everything) if observations else None,
        },
        "graph": Markup(graph_svg(compiled)),  # noqa: S704  (graph_svg escapes what it writes)
        "compiled": compiled,
        "unit_anchors": unit_anchors,
        "confirmation": confirmation,
        "hunks": verdict_hunks(valuation, compiled)
        if revised is None
        else revision_hunks(valuation, compiled, revised),
        "chains": chain_views(records, units, chosen),
        "transcripts": chosen,
    }
    return _environment().get_template("page.html.j2").render(context)


def _head(valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation]) -> dict[str, Any]:
    style, script = _asset("page.css"), _asset("page.js")
    units = execution_units(valuation)
    return {
        "version": __version__,
        "style": Markup(style),  # noqa: S704  (our own file)
        "script": Markup(script),  # noqa: S704  (our own file)
        "policy": _policy(style, script),
        "valuation": valuation,
        "title": escape_text(str(valuation.skill.get("name", "skill"))),
        "checks": page_checks(valuation, records, observations),
        "counts": {action: sum(unit.verdict.action is action for unit in units) for action in Action},
        "execution": units,
        "removable": removable_units(valuation),
    }


def _figures(
    valuation: Valuation,
    records: Sequence[ChainRecord],
    curves: Sequence[PruningCurve],
    edits: EditPlan | None,
    unit_anchors: Mapping[str, str],
) -> dict[str, Figure | None]:
    def target(unit: str) -> str | None:
        return f"#{unit_anchors[unit]}" if unit in unit_anchors else None

    pruning = None
    if curves:
        pruning = pruning_chart(curves, full=_score_at(curves, 0.0), trigger=_score_at(curves, 1.0))
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


def _score_at(curves: Sequence[PruningCurve], share: float) -> Interval | None:
    """The held-out score where nothing (0) or everything but the trigger (1) is removed, if a curve has that point."""
    scores = (point.score for curve in curves for point in curve.points if abs(point.share_removed - share) < 1e-9)
    return next(scores, None)


def _policy(style: str, script: str) -> str:
    """The content security policy: nothing may load; only the page's own style and script may run, by their hashes."""
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
    """A drawing for the page, without the attributes that only a saved drawing needs: the page's style has them."""
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
    functions = (
        all_notes,
        bounds,
        closure_sentence,
        concentration_sentence,
        lift_sentence,
        plural,
        proof_sentence,
        saving_sentence,
        spending_parts,
        total_tokens,
    )
    environment.globals.update({function.__name__: function for function in functions})
    environment.filters.update(
        count=count, escaped=escape_text, inline=_inline, interval=with_bounds, points=points, task_score=task_score
    )
    return environment
