"""Trace2Skill: measured values of a skill's lines as extra records for its evolver.

    from skillsv.integrations.trace2skill import value_records

    records = json.loads(Path("errors.json").read_text()) + value_records(run.valuation)

Its evolver reads lists of records, one for each analysed trajectory, with items that have a title, a description and a
content (`--error-json`). `value_records` writes harmful lines and lines without effect in that form, so that the
evolver corrects or removes them. Prune the evolved folder with `skillsv shrink` afterwards.
"""

from __future__ import annotations

import skillsv as sv
from skillsv.integrations.feedback import ADVICE
from skillsv.model.format import with_bounds
from skillsv.model.value import UnitReport

REPORTED = ("harmful", "delete", "expendable", "idle")
"""Verdicts that the evolver should act on."""


def value_records(valuation: sv.Valuation) -> list[dict[str, object]]:
    """One record for each line that is shown to do harm or nothing; all others are left out."""
    return [_record(number, unit) for number, unit in enumerate(valuation.units, 1) if unit.action in REPORTED]


def _record(number: int, unit: UnitReport) -> dict[str, object]:
    """One unit in the form of Trace2Skill's error records."""
    place = f"{unit.file}:{unit.lines.first}"
    item = {
        "type": "failure_memory",
        "number": 1,
        "title": f"The line at {place} {ADVICE[unit.action]}",
        "description": f"Measured effect on the score: {with_bounds(unit.net)} points of a hundred.",
        "content": unit.text.strip(),
        "skill_reflection": f"Act on {place} of the skill; do not add advice on top of it.",
    }
    return {"instance_id": f"skillsv-{number}", "source_file": place, "items": [item]}
