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
   functions and filters that `page_environment.py` lists.
5. Add the panel to `PANELS` in `tests/report/browser/test_page.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from skillsv.model.coalition import ChainRecord, Observation
from skillsv.model.edit import Confirmation, EditPlan, ProofOutcome, PruningCurve
from skillsv.model.rollout import Rollout
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Action, Valuation
from skillsv.report.chain_views import chain_views, choose_transcripts, find_informative_rollouts
from skillsv.report.edits import ShorterSkill
from skillsv.report.escape import escape_text
from skillsv.report.evidence import Evidence
from skillsv.report.figures.svg import Figure
from skillsv.report.file_views import file_views
from skillsv.report.graph import graph_svg
from skillsv.report.headline import headline, numbers_sentence, summary_sentences
from skillsv.report.line_names import LineNames
from skillsv.report.marginals import marginals_by_unit
from skillsv.report.next_steps import next_steps
from skillsv.report.page_checks import checks_sentence, page_checks
from skillsv.report.page_environment import asset, environment, page_style, policy
from skillsv.report.page_figures import page_figures
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import (
    execution_units,
)
from skillsv.report.shorter_views import dependency_views, pair_views, shorter_view
from skillsv.report.unit_views import anchors_by_unit, unit_views
from skillsv.report.verdict_styles import VERDICT_STYLES
from skillsv.version import __version__

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
    return environment().get_template("page.html.j2").render(context)


def _head(valuation: Valuation, records: Sequence[ChainRecord], observations: Sequence[Observation]) -> dict[str, Any]:
    style, script = page_style(), asset("page.js")
    units = execution_units(valuation)
    checks = page_checks(valuation, records, observations)
    return {
        "version": __version__,
        "style": Markup(style),  # noqa: S704  (our own file)
        "script": Markup(script),  # noqa: S704  (our own file)
        "policy": policy(style, script),
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
