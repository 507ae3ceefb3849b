"""The words of inlay hints and hovers. All of it is plain text: the editor renders no Markdown of a skill."""

from __future__ import annotations

import math

from skillsv.lsp.unit_states import UnitState, ValuedText, ValuedUnit
from skillsv.model.format import plural, with_bounds
from skillsv.model.valuation_document import EffectDocument, UnitDocument
from skillsv.model.value import Action, Interval
from skillsv.report.escape import escape_line
from skillsv.report.verdict_styles import VERDICT_STYLES

_STALE = {UnitState.CHANGED: "changed since the run", UnitState.ADDED: "not in the run"}
"""What is said instead of a value."""


def hint_label(valued: ValuedUnit, text: ValuedText) -> str:
    """The hint at the end of a line: `+11.1 [+10.1, +12.0] ● keep`, or that the line has changed."""
    if valued.value is None:
        return _STALE.get(valued.state, "no value")
    action = Action(valued.value["verdict"])
    provisional = ", provisional" if text.values.provisional else ""
    return f"{_amount(valued.value)} {VERDICT_STYLES[action].mark} {action}{provisional}"


def hover_text(valued: ValuedUnit, text: ValuedText) -> str:
    """What the run says about a unit, in full; of a unit that has changed, only that it has."""
    values = text.values
    source = f"Run: {escape_line(str(values.folder))}, agent {escape_line(values.agent)}."
    value = valued.value
    if value is None:
        said = _STALE.get(valued.state, "no value")
        return f"This unit: {said}. Its value is not known until the skill is valued again.\n{source}"
    action = Action(value["verdict"])
    lines = [
        f"{action}: {VERDICT_STYLES[action].meaning}.",
        f"Net effect on these tasks: {_amount(value)} points, {plural(value['tokens'], 'token')}.",
        escape_line(value["reason"]),
        *_proof_lines(value["id"], text),
        *(["The run is not finished: this is provisional."] if values.provisional else []),
        *(["Other parts of the skill have changed since the run: this value is of the text then."] * text.edited),
        source,
    ]
    return "\n".join(lines)


def _proof_lines(unit: str, text: ValuedText) -> list[str]:
    values = text.values
    if unit not in values.proved:
        return []
    others = len(values.proved) - 1
    together = f", together with {plural(others, 'other unit')}," if others else ""
    return [f"Its deletion{together} was proved.", escape_line(values.proof)]


def _amount(value: UnitDocument) -> str:
    net = _interval(value["net_panel"])
    return with_bounds(net) if math.isfinite(net.value) else "no value yet"


def _interval(document: EffectDocument) -> Interval:
    numbers = (document["value"], document["low"], document["high"])
    return Interval(*(math.nan if number is None else number for number in numbers))
