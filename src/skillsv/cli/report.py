"""`skillsv report`: the answer of a run as a page, or as text for a pull request or for CI."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from skillsv.cli.printing import deliver, json_text
from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.model.edit import EditPlan
from skillsv.model.rollout import Rollout, RolloutKey

if TYPE_CHECKING:
    from skillsv.pipeline import Run
    from skillsv.rollout import RunFolder

Format = Literal["html", "md", "json", "junit"]


def report(
    run: Annotated[Path, Parameter(help="The folder of a run, finished or not.")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write to this file.")] = None,
    format: Annotated[Format, Parameter(help="A page, Markdown, JSON, or JUnit XML.")] = "html",  # noqa: A002
    show: Annotated[bool, Parameter(name="--open", negative=(), help="Open the page in a browser.")] = False,
    transcripts: Annotated[int, Parameter(help="Most characters of transcripts in the page; 0 for none.")] = 200_000,
) -> int:
    """skillsv report .skillsv/my-skill --open

    Write the report of a run, at any moment, at no cost. The page is one file that loads nothing; without -o it
    goes into the run folder. The other formats go to stdout.
    """
    if show and format != "html":
        raise SettingsError("--open shows the page, and no page was asked for.", hint="Leave out --format.")
    if transcripts < 0:
        raise SettingsError("--transcripts cannot be negative.", hint="Give 0 for a page without transcripts.")
    from skillsv.pipeline import load_run
    from skillsv.rollout import RunFolder

    loaded = load_run(run)
    if format != "html":
        deliver(_text(loaded, format), output)
        return 0
    folder = RunFolder(run)
    page = output or folder.report
    deliver(_page(loaded, folder, transcripts), page)
    print(f"Report: {page}")
    if show and not _open(page):
        print("skillsv: no browser could be started; open the file yourself.", file=sys.stderr)
    return 0


def _text(run: Run, kind: Format) -> str:
    from skillsv.report.as_json import valuation_dict
    from skillsv.report.text import junit_xml, markdown_summary

    if kind == "json":
        return json_text(valuation_dict(run.valuation))
    return markdown_summary(run.valuation) if kind == "md" else junit_xml(run.valuation)


def _page(run: Run, folder: RunFolder, limit: int) -> str:
    from skillsv.report import page

    return page(
        run.valuation,
        run.compiled,
        run.records,
        observations=run.observations,
        edits=_whole_path(run),
        transcripts=readable_rollouts(folder, run, limit) if limit else (),
        limit=limit,
    )


def _whole_path(run: Run) -> EditPlan:
    """The pruning path to its end: what the values promise for every length of the skill."""
    from skillsv.decide import pruning_path
    from skillsv.pipeline.edit import tokens_of_kept
    from skillsv.pipeline.prepare import make_renderer

    renderer = make_renderer(run.compiled, run.settings)
    values = {unit.id: unit.value.net.value for unit in run.valuation.units}
    path = pruning_path(run.compiled, values, lambda kept: tokens_of_kept(renderer, kept))
    verdicts = tuple(unit.verdict for unit in run.valuation.units)
    return EditPlan(verdicts=verdicts, path=path, tokens=renderer.total_tokens)


def readable_rollouts(folder: RunFolder, run: Run, limit: int) -> tuple[Rollout, ...]:
    """The telling rollouts with their answers, from the ledger, about `limit` characters of them."""
    from skillsv.rollout import Ledger

    if not folder.ledger.exists():
        return ()
    read: list[Rollout] = []
    room = limit
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        for key in _telling_keys(run):
            rollout, detail = ledger.lookup([key]).get(key), ledger.detail(key)
            if rollout is None or detail is None:
                continue
            read.append(replace(rollout, answer=detail.answer, transcript=detail.transcript))
            room -= len(detail.transcript or detail.answer)
            if room <= 0:
                break
    return tuple(read)


def _telling_keys(run: Run) -> Iterator[RolloutKey]:
    """In chains, where a unit made the largest difference; in an adaptive run, the whole skill's worst tasks first."""
    from skillsv.pipeline.prepare import make_renderer
    from skillsv.report.marginals import marginals_by_unit
    from skillsv.report.transcripts import telling_places

    agent, digests = run.manifest["agent"]["fingerprint"], run.manifest["panel_a"]
    replicate = {step.tree: record.plan.replicate for record in run.records for step in record.steps}
    for tree, task in telling_places(marginals_by_unit(run.records)):
        yield RolloutKey(tree=tree, task=digests.get(task, ""), agent=agent, replicate=replicate.get(tree, 0))
    everything = run.compiled.everything
    whole = [item for item in run.observations if item.coalition == everything and item.score is not None]
    tree = make_renderer(run.compiled, run.settings).render(everything, Operator.DELETE).digest if whole else ""
    for item in sorted(whole, key=lambda item: (item.score or 0.0, item.task, item.replicate)):
        yield RolloutKey(tree=tree, task=digests.get(item.task, ""), agent=agent, replicate=item.replicate)


def _open(page: Path) -> bool:
    import webbrowser

    return webbrowser.open(page.resolve().as_uri())
