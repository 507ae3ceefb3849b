"""`skillsv report`: writes the result of a run as a page, or as text for a pull request or for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from skillsv.cli.printing import deliver, json_text, refuse_inside, say
from skillsv.errors import SettingsError

if TYPE_CHECKING:
    from skillsv.api.run import Run

Format = Literal["html", "md", "json", "junit"]


def report(
    run: Annotated[Path, Parameter(help="The folder of a run, finished or not.")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write to this file.")] = None,
    earlier: Annotated[
        str | None, Parameter(name="--run", help="An earlier run in this folder, as `status --earlier` names it.")
    ] = None,
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
    from skillsv.api.run import load_run
    from skillsv.rollout import RunFolder

    loaded = load_run(run, run=earlier)
    if loaded.skill.path is not None:
        refuse_inside(output, loaded.skill.path)
    if format != "html":
        deliver(_text(loaded, format), output)
        return 0
    page = output or RunFolder(loaded.folder).report
    deliver(loaded.page(transcripts=transcripts), page)
    deliver(f"Report: {page}\n", None)
    if show and not _open(page):
        say("skillsv: no browser could be started; open the file yourself.")
    return 0


def _text(run: Run, kind: Format) -> str:
    from skillsv.report.text import junit_xml, markdown_summary
    from skillsv.report.valuation_json import valuation_dict

    if kind == "json":
        return json_text(valuation_dict(run.valuation, run.last_proof))
    return markdown_summary(run.valuation, run.last_proof) if kind == "md" else junit_xml(run.valuation)


def _open(page: Path) -> bool:
    import webbrowser

    return webbrowser.open(page.resolve().as_uri())
