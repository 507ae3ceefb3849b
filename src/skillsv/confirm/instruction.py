"""What an editor is told: the paper's instruction, the report unit by unit, and what was wrong with an earlier try."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from skillsv.model.value import Interval, UnitReport, Valuation

PROMPT = "editor_prompt.md"


def editor_instruction(valuation: Valuation, complaints: Sequence[str] = ()) -> str:
    """The instruction with the report, in points; `complaints` name what an earlier try got wrong."""
    parts = [files("skillsv.confirm").joinpath(PROMPT).read_text(encoding="utf-8").rstrip()]
    lift = valuation.estimate.content_lift
    parts.append(f"# The report\n\nThe whole skill lifts the score by {_points(lift)} points.")
    parts.append("\n\n".join(_unit(unit) for unit in valuation.units))
    if complaints:
        wrong = "\n".join(f"- {complaint}" for complaint in complaints)
        parts.append(f"# Your last version was refused\n\n{wrong}\n\nBegin again from the original skill.")
    return "\n\n".join(parts) + "\n"


def _unit(unit: UnitReport) -> str:
    values = [f"net effect {_points(unit.value.net)}"]
    if unit.value.content is not None and unit.value.cost is not None:
        values += [f"content {_points(unit.value.content)}", f"cost {_points(unit.value.cost)}"]
    place = f"{unit.file}, lines {unit.lines.first} to {unit.lines.last}"
    quoted = "\n".join(f"> {line}" for line in unit.text.strip().splitlines()[:12])
    return (
        f"## {unit.id}: {unit.verdict.action}\n\n{place}; {unit.tokens} tokens; {', '.join(values)}.\n"
        f"{unit.verdict.reason}\n\n{quoted}"
    )


def _points(interval: Interval) -> str:
    return f"{100 * interval.value:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
