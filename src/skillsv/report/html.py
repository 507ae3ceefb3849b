"""The report page: one HTML file that loads nothing from the network and can be read without its script.

`page` collects what the template shows; the template is `assets/page.html.j2`, with `page.css` and `page.js` beside it.

To add a panel:

1. A drawing: write a function in `figures/` that takes finished data and returns a `Figure`, or None without data,
   export it in `figures/__init__.py`, and add it to `page_figures.py`. Text and tables: write a view, a frozen
   dataclass of escaped text as in `unit_views.py`, and add it to the context in `page`.
2. In `assets/page.html.j2` add `<section id="NAME" aria-labelledby="NAME-title">` with an `<h2>`; `{{ chart(figure) }}`
   shows a figure with its caption, its table and its buttons for saving. A panel without data is not shown.
   What begins closed and may be long is put into `<noscript>`: the script builds it when it is opened or when the
   browser is idle, so that a long page opens in short tasks; without a script it is there at once.
3. Add its name and its link to `_panels` below: the navigation lists the panels that have data.
4. A new sentence goes into `sentences.py`, a new format of numbers into `skillsv.model.format`. The template knows the
   functions and filters that `_environment` lists.
5. Add the panel to `PANELS` in `tests/report/browser/test_page.py`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.edit import Confirmation, EditPlan, ProofOutcome, PruningCurve
from skillsv.model.format import count, plural, points, with_bounds
from skillsv.model.rollout import Rollout
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Valuation
from skillsv.report.chain_views import chain_views, choose_transcripts, find_informative_rollouts
from skillsv.report.edits import ShorterSkill
from skillsv.report.escape import escape_text
from skillsv.report.evidence import Evidence
from skillsv.report.figures.svg import STANDALONE, Figure
from skillsv.report.file_views import file_views
from skillsv.report.graph import graph_svg
from skillsv.report.headline import headline, numbers_sentence, summary_sentences
from skillsv.report.line_names import LineNames
from skillsv.report.marginals import marginals_by_unit
from skillsv.report.next_steps import next_steps
from skillsv.report.page_checks import checks_sentence, page_checks
from skillsv.report.page_figures import page_figures
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import (
    all_notes,
    closure_sentence,
    cost_words,
    early_sentence,
    execution_units,
    proof_sentence,
    spending_sentence,
)
from skillsv.report.shorter_views import dependency_views, pair_views, shorter_view
from skillsv.report.unit_views import anchors_by_unit, unit_views
from skillsv.report.verdict_styles import VERDICT_STYLES, style_rules
from skillsv.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

TRANSCRIPT_LIMIT = 200_000
"""Characters of transcripts in one page, so that it opens at once and can be sent by mail."""


TABLE_ROWS = 1_000
"""Rows of a figure's table in one page: an adaptive run may have scored ten thousand partial skills."""


def page(
    valuation: Valuation,
    compiled: CompiledSkill,
    records: Sequence[ChainRecord],
    *,
    observations: Sequence[Observation] = (),
    curves: Sequence[PruningCurve] = (),
    edits: EditPlan | None = None,
    shorter: ShorterSkill | None = None,
    evidence: Evidence | None = None,
    facts: RunFacts | None = None,
    confirmation: Confirmation | None = None,
    transcripts: Sequence[Rollout] = (),
    limit: int = TRANSCRIPT_LIMIT,
) -> str:
    """The whole report as one HTML text.

    `observations` are the scores of an adaptive run, `curves` and `confirmation` the scores on held-out tasks, `edits`
    the pruning path, `shorter` the version that the page proposes, `evidence` the tasks that decided, `facts` the
    origin of the run, `transcripts` the rollouts to choose from; as many of them are embedded as `limit` characters
    allow.
    """
    evidence, facts = evidence or Evidence(), facts or RunFacts()
    if confirmation is not None and curves:
        confirmation = replace(confirmation, curves=(*curves, *confirmation.curves))
    marginals = marginals_by_unit(records)
    anchors = anchors_by_unit(valuation)
    names = LineNames(execution_units(valuation), compiled.skill.main)
    units = unit_views(valuation, compiled, marginals, anchors, names=names, evidence=evidence)
    chosen = choose_transcripts(transcripts, find_informative_rollouts(marginals), limit)
    all_curves = confirmation.curves if confirmation else tuple(curves)
    figures = page_figures(
        valuation,
        compiled,
        records=records,
        observations=observations,
        curves=all_curves,
        edits=edits,
        shorter=shorter,
        confirmation=confirmation,
        evidence=evidence,
        anchors=anchors,
        names=names,
    )
    proof = confirmation if shorter is not None and shorter.confirmed else None
    context = {
        **_head(valuation, records, observations),
        "headline": headline(valuation, shorter, confirmation),
        "summary": summary_sentences(valuation, confirmation, confirmed=proof is not None),
        "numbers": numbers_sentence(valuation, shorter, confirmation),
        "steps": next_steps(valuation, shorter, confirmation, facts, names),
        "facts": facts,
        "units": units,
        "files": file_views(compiled, units, valuation.estimate.sections),
        "shorter": shorter_view(shorter, valuation, compiled, names, anchors) if shorter else None,
        "figures": figures,
        "pairs": pair_views(evidence, names, anchors),
        "dependencies": dependency_views(compiled, units, names),
        "graph": Markup(graph_svg(compiled)),  # noqa: S704  (graph_svg escapes what it writes)
        "compiled": compiled,
        "names": names,
        "confirmation": confirmation,
        "worse": proof is not None and proof.outcome is ProofOutcome.WORSE,
        "chains": chain_views(records, units, chosen),
        "transcripts": chosen,
    }
    context["panels"] = _panels(context)
    return _environment().get_template("page.html.j2").render(context)


def _head(valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation]) -> dict[str, Any]:
    style, script = _asset("page.css").replace("/* verdicts */", style_rules()), _asset("page.js")
    units = execution_units(valuation)
    checks = page_checks(valuation, records, observations)
    return {
        "version": __version__,
        "style": Markup(style),  # noqa: S704  (our own file)
        "script": Markup(script),  # noqa: S704  (our own file)
        "policy": _policy(style, script),
        "valuation": valuation,
        "title": escape_text(str(valuation.skill.get("name", "skill"))),
        "checks": checks,
        "checks_sentence": checks_sentence(checks),
        "counts": {action: sum(unit.verdict.action is action for unit in units) for action in Action},
        "verdicts": VERDICT_STYLES,
        "execution": units,
    }


def _panels(context: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Id and name of every panel that has data, in the order of the page."""
    figures: Mapping[str, Figure | None] = context["figures"]
    shorter = context["shorter"]
    panels = [
        ("skill", "Skill", True),
        ("diff", "Diff", shorter is not None and shorter.files),
        ("next", "What next", True),
        ("score", "Score", True),
        ("values", "Lines", context["execution"]),
        ("sections", "Sections", context["execution"]),
        ("tasks", "Tasks", figures["tasks"]),
        ("relations", "Relations", context["pairs"] or context["dependencies"] or context["compiled"].contractions),
        ("cost", "Length", context["execution"]),
        ("pruning", "Pruning", figures["pruning"]),
        ("method", "Method", True),
    ]
    return [(name, title) for name, title, shown in panels if shown]


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
    functions = (all_notes, closure_sentence, cost_words, early_sentence, plural, proof_sentence, spending_sentence)
    environment.globals["table_rows"] = TABLE_ROWS
    environment.globals.update({function.__name__: function for function in functions})
    environment.filters.update(count=count, escaped=escape_text, inline=_inline, interval=with_bounds, points=points)
    return environment
