"""`skillsv compare`: two runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json

if TYPE_CHECKING:
    from skillsv.api.run import Run
    from skillsv.confirmation.compare import SideBySide, UnitChange
    from skillsv.report.line_names import LineNames


def compare(
    first: Annotated[Path, Parameter(help="The folder of a run.")],
    second: Annotated[Path, Parameter(help="The folder of another run.")],
    /,
    *,
    json: Json = False,
) -> int:
    """skillsv compare .skillsv/my-skill .skillsv/my-shorter-skill

    Put two runs side by side: two versions of a skill, or one skill with two agents. Units are matched by id, then by
    text; every difference has its interval. Costs nothing.
    """
    from skillsv.api.run import load_run
    from skillsv.cli.printing import deliver, json_text
    from skillsv.confirmation.compare import side_by_side
    from skillsv.report.valuation_json import json_value

    first_run, second_run = load_run(first), load_run(second)
    comparison = side_by_side(first_run.valuation, second_run.valuation)
    notes = _notes(first_run, second_run)
    if json:
        fields = {"schema": "skillsv.comparison/1", **asdict(comparison), "notes": notes}
        deliver(json_text(json_value(fields)), None)
    else:
        deliver(
            "".join(
                f"{line}\n"
                for line in (
                    *_lines(comparison, _names(first_run), _names(second_run)),
                    *(f"Note: {note}" for note in notes),
                )
            ),
            None,
        )
    return 0


def _notes(first: Run, second: Run) -> list[str]:
    notes = [
        f"The {place} run is provisional: it is not finished."
        for place, run in (("first", first), ("second", second))
        if run.valuation.provisional
    ]
    if first.stored.manifest["panel_a"] != second.stored.manifest["panel_a"]:
        notes.append("The runs were valued on different tasks.")
    if first.stored.manifest["agent"]["fingerprint"] != second.stored.manifest["agent"]["fingerprint"]:
        notes.append("The runs were valued with different agents.")
    if _files_digest(first) != _files_digest(second):
        notes.append("The runs are of different versions of the skill.")
    elif first.skill.digest != second.skill.digest:
        notes.append("The skill was cut into units by different rules or settings; its files are the same.")
    return notes


def _files_digest(run: Run) -> str:
    """The digest of all files of the skill as the agent gets them, however they are cut into units."""
    from skillsv.api.skill import render

    return render(run.skill, keep="all").digest


def _names(run: Run) -> LineNames:
    from skillsv.report.line_names import LineNames

    return LineNames(run.valuation.units, run.skill.compiled.skill.main)


def _lines(found: SideBySide, before_names: LineNames, after_names: LineNames) -> Iterator[str]:
    from skillsv.model.format import count, percent, with_bounds

    share = found.tokens_after / found.tokens_before if found.tokens_before else 1.0
    yield f"Tokens: {count(found.tokens_before)} before, {count(found.tokens_after)} after ({percent(share)})."
    before, after = (with_bounds(lift, signed=False) for lift in (found.lift_before, found.lift_after))
    yield f"Lift: {before} before, {after} after."
    score = with_bounds(found.full_change)
    yield f"Change of the lift {with_bounds(found.lift_change)}, of the whole skill's score {score}."
    for unit in found.units:
        yield _line(unit, before_names, after_names)


def _line(unit: UnitChange, before_names: LineNames, after_names: LineNames) -> str:
    from skillsv.model.format import with_bounds

    if unit.net_after is None and unit.net_before is not None:
        return f"{_words(unit.before, before_names)}: gone; it was worth {with_bounds(unit.net_before)}."
    if unit.net_before is None and unit.net_after is not None:
        return f"{_words(unit.after, after_names)}: new; worth {with_bounds(unit.net_after)}."
    assert unit.change is not None
    name, place = _words(unit.before, before_names), after_names.line(unit.after or "")
    name = name if place == before_names.line(unit.before or "") else f"{name}, now {place}"
    remark = "" if unit.change.low <= 0 <= unit.change.high else ", a real change"
    return f"{name}: {with_bounds(unit.change)}{remark}."


def _words(unit: str | None, names: LineNames) -> str:
    """The line and its first words, as a sentence begins."""
    words = names.words(unit or "")
    return words[:1].upper() + words[1:] if words.startswith("line") else words
