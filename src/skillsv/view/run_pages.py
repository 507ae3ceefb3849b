"""The pages of a run: its report, the matrix that it belongs to, and the page that says why one cannot be shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path

import msgspec

from skillsv.errors import RecordsError, SkillSVError
from skillsv.model.matrix_document import MatrixDocument
from skillsv.model.skill import CompiledSkill
from skillsv.pipeline import load_run, read_manifest, render_page
from skillsv.pipeline.run import compile_stored_skill, manifest_settings
from skillsv.report.escape import escape_text
from skillsv.report.matrix_html import matrix_page
from skillsv.report.page_environment import asset, policy
from skillsv.rollout import RunFolder
from skillsv.rollout.run_folder import AGENTS

SANDBOX = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"
"""The policy of these pages beside their own: they have no origin, so they cannot use this server."""

MATRIX_JSON = "matrix.json"
"""The answer of a matrix, in its folder."""


def render_report(place: Path) -> str:
    """The report of a run."""
    return render_page(RunFolder(place), load_run(place))


def render_matrix(place: Path) -> str:
    """The page of the matrix that a run belongs to. The run itself may have failed."""
    try:
        stored = (place.parent.parent / MATRIX_JSON).read_bytes()
    except FileNotFoundError as error:
        raise RecordsError("this matrix has no answer yet.", where=str(place.parent.parent)) from error
    document = msgspec.json.decode(stored, type=MatrixDocument)
    return matrix_page(document, _find_skill(document, place))


def _find_skill(document: MatrixDocument, place: Path) -> CompiledSkill:
    """The skill that the matrix valued, from the folder of any of its agents: each holds a copy."""
    wanted = {unit["id"] for unit in document["units"]}
    for folder in _agent_folders(document, place):
        try:
            manifest = read_manifest(folder)
            compiled = compile_stored_skill(folder, manifest["skill"], manifest_settings(manifest))
        except (OSError, SkillSVError):  # this agent's folder is gone or damaged
            continue
        if wanted <= {unit.id for unit in compiled.units}:
            return compiled
    raise RecordsError(
        "the skill that this matrix valued is not in the folders of its agents any more.",
        where=str(place.parent.parent),
        hint="Its page as it was written is matrix.html in this folder.",
    )


def _agent_folders(document: MatrixDocument, place: Path) -> Iterator[RunFolder]:
    """The run itself, then the runs that the matrix names: only their names count, the folders may have been moved."""
    yield RunFolder(place)
    for agent in document["agents"]:
        name = Path(agent["folder"]).name
        if name not in {"", "..", place.name}:
            yield RunFolder(place.parent / name)


def render_refusal(place: Path | None, what: str) -> str:
    """The page that says why another one cannot be shown, with the notes of the run: they may say what ended it."""
    notes: tuple[str, ...] = ()
    if place is not None:
        notes = _read_notes(place)
        if place.parent.name == AGENTS:  # its run is continued by the command of the matrix
            what = what.replace("'skillsv value'", "'skillsv matrix'")
    paragraphs = "\n".join(f"<p>{escape(escape_text(text))}</p>" for text in (what, *notes))
    return _refusal_template().replace("<!--paragraphs-->", paragraphs)


def _read_notes(place: Path) -> tuple[str, ...]:
    try:
        return RunFolder(place).notes()
    except OSError:
        return ()


def refusal_policy() -> str:
    """The policy of that page: its own style, no script, no origin."""
    return f"{SANDBOX}; {policy(_style(), '')}"


@cache
def _style() -> str:
    return asset("colours.css") + _own_asset("view.css")


@cache
def _refusal_template() -> str:
    return _own_asset("refusal.html").replace("/*style*/", _style())


def _own_asset(name: str) -> str:
    return resources.files("skillsv.view").joinpath("assets", name).read_text(encoding="utf-8")
