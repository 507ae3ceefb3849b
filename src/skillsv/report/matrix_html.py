"""The page of a matrix: the annotated skill with one column for each agent, as a heat map.

It is one HTML file that loads nothing, with the policy of the report page; without its script the whole table shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from skillsv.model.format import bounds, count, decimal, has_width, plural, points
from skillsv.model.matrix_document import MatrixCellDocument, MatrixDocument, MatrixUnitDocument
from skillsv.model.skill import CompiledSkill
from skillsv.report.escape import escape_text
from skillsv.report.figures.axis import drawable
from skillsv.report.file_views import file_views
from skillsv.report.matrix_text import (
    MARKS,
    PATTERN_WORDS,
    cells_by_agent,
    interval_of,
    matrix_lines,
    skill_sentence,
)
from skillsv.report.page_environment import asset, environment, page_style, policy
from skillsv.report.unit_views import tint
from skillsv.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One cell of the heat map. `share` sorts; it is empty where the value is not known."""

    value: str
    interval: str
    mark: str
    effect: str
    tint: str
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixUnitView:
    """One unit with its cells."""

    anchor: str
    file: str
    cells: tuple[CellView, ...]
    pattern: str
    words: str
    differ: bool


def matrix_page(document: MatrixDocument, compiled: CompiledSkill) -> str:
    """The whole page as one HTML text."""
    agents = [agent for agent in document["agents"] if agent["rollouts"] is not None]
    names = [agent["name"] for agent in agents]
    strongest = max(
        (abs(drawable(interval_of(cell["net"])).value) for unit in document["units"] for cell in unit["cells"]),
        default=0.0,
    )
    units = {
        unit["id"]: _unit_view(unit, f"u-{number}", names, strongest or 1.0)
        for number, unit in enumerate(document["units"], start=1)
    }
    style = page_style() + asset("matrix.css")
    script = asset("matrix.js")
    lines = matrix_lines(document)
    patterns = {unit.pattern for unit in units.values()}
    context = {
        "version": __version__,
        "style": Markup(style),  # noqa: S704  (our own file)
        "script": Markup(script),  # noqa: S704  (our own file)
        "policy": policy(style, script),
        "title": escape_text(document["skill"]["name"]),
        "headline": lines[0],
        "tasks": document["tasks"],
        "agents": [escape_text(name) for name in names],
        "scores": [(escape_text(agent["name"]), *_scores(agent["anchors"])) for agent in agents],
        "files": file_views(compiled, units),
        "patterns": [(name, words) for name, words in PATTERN_WORDS.items() if name in patterns],
        "differing": sum(unit.differ for unit in units.values()),
        "skills": [
            escape_text(skill_sentence(document, skill)) for skill in (document["shared"], *document["for_each"])
        ],
        "agreements": [
            (escape_text(pair["first"]), escape_text(pair["second"]), decimal(pair["tau"], digits=2))
            for pair in document["agreements"]
        ],
        "errors": [
            (escape_text(agent["name"]), escape_text(agent["error"])) for agent in document["agents"] if agent["error"]
        ],
        "notes": [escape_text(note) for note in document["notes"]],
        "spent": _spent_words(document),
    }
    return environment().get_template("matrix.html.j2").render(context)


def _spent_words(document: MatrixDocument) -> str:
    """How many rollouts all agents have run now, and how many answers they took from earlier sessions."""
    rollouts = [agent["rollouts"] for agent in document["agents"] if agent["rollouts"] is not None]
    spent, reused = (sum(row[name] for row in rollouts) for name in ("spent", "reused"))
    return f"{plural(spent, 'new rollout')}, {count(reused)} reused" if reused else plural(spent, "rollout")


def _unit_view(unit: MatrixUnitDocument, anchor: str, names: list[str], strongest: float) -> MatrixUnitView:
    cells = cells_by_agent(unit)
    return MatrixUnitView(
        anchor=anchor,
        file=unit["file"],
        cells=tuple(_cell_view(cells[name], strongest) for name in names),
        pattern=unit["pattern"],
        words=PATTERN_WORDS[unit["pattern"]],
        differ=unit["disagree"],
    )


def _cell_view(cell: MatrixCellDocument, strongest: float) -> CellView:
    net, effect = interval_of(cell["net"]), cell["effect"]
    value = cell["net"]["value"]
    return CellView(
        value=points(net.value),
        interval=bounds(net) if has_width(net) else "",
        mark=MARKS[effect],
        effect=effect,
        tint=tint(drawable(net), strongest, unresolved=effect == "open"),
        share="" if value is None else f"{value:.6g}",
    )


def _scores(anchors: object) -> tuple[str, ...]:
    """The scores of the bare agent, the trigger and the full skill, in points."""
    assert isinstance(anchors, dict)
    return tuple(points(anchors[name]["value"], signed=False) for name in ("empty", "trigger", "full"))
