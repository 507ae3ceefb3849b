"""The compiled skill as an SVG drawing without script: sections as lanes, units as boxes, a line style per rule."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from skillsv.model.format import plural
from skillsv.model.skill import CompiledSkill, Edge, SkillFile, Unit, UnitKind
from skillsv.report.escape import escape_line, shorten
from skillsv.report.graph_layout import BOX_HEIGHT, BOX_WIDTH, MARGIN, Box, Drawing, Lane, Trunk, lay_out
from skillsv.report.sentences import files_by_path, first_words, location

_TOP = 78
"""Pixels above the first row, for the title and the counts."""

_NOTES_SHOWN = 8
"""Repairs that are listed below the legend."""

_ENTRY_WIDTH = 124
"""Pixels between two entries of the legend."""

_LEGEND_STEP = 24
"""Pixels between two rows of the legend."""

_LEAST_WIDTH = 720
"""Pixels: a narrower drawing would cut the title and the legend."""

_NOTE_STEP = 18
"""Pixels between two lines of the notes."""

_MARKUP = re.compile(r"^(?:[-*+]|---|#+) |\*\*|`")
"""Markdown that is left out of a box."""

_WIDTHS = dict.fromkeys("ijl.,:;'|!", 3.6) | dict.fromkeys('frt()[]- /"*', 4.8) | dict.fromkeys("mwMW@%—…→", 11.2)
"""Pixels of narrow and wide characters in a wide font of size 11.5."""

_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class RuleStyle:
    """How the edges of a rule are drawn: by colour and by dashes."""

    name: str
    colour: str
    dash: str = ""


RULE_STYLES: Mapping[str, RuleStyle] = {
    "R1": RuleStyle("link", "#1d4ed8"),
    "R2": RuleStyle("path", "#0e7490", "7 3"),
    "R3": RuleStyle("heading-ref", "#9333ea", "2 3"),
    "R4": RuleStyle("def-use", "#c2410c"),
    "R5": RuleStyle("example-ref", "#be185d", "9 3 2 3"),
    "R6": RuleStyle("trigger", "#94a3b8", "1 3"),
    "R7": RuleStyle("table-cont", "#4d7c0f", "10 3"),
    "R8": RuleStyle("list-cont", "#854d0e", "4 2"),
    "R9": RuleStyle("lead-in", "#047857"),
    "R10": RuleStyle("inside", "#0369a1"),
}
_UNKNOWN_RULE = RuleStyle("", "#334155")

KIND_FILLS: Mapping[UnitKind, str] = {
    UnitKind.TRIGGER: "#fde68a",
    UnitKind.ITEM: "#ffffff",
    UnitKind.BLOCK: "#e8eef7",
    UnitKind.REGION: "#f5d0fe",
    UnitKind.SECTION: "#e8eef7",
    UnitKind.RESOURCE: "#d1fae5",
    UnitKind.COMPOSITE: "#fecaca",
}


def graph_svg(compiled: CompiledSkill) -> str:
    """The whole drawing as one SVG document that loads nothing."""
    drawing = lay_out(compiled, top=_TOP)
    width = max(drawing.width, _LEAST_WIDTH)
    legend, below_legend = _legend(compiled, drawing.height + 18, width)
    notes, bottom = _notes(compiled, below_legend)
    name = escape(escape_line(compiled.skill.name))
    size = f'width="{width:g}" height="{bottom + MARGIN:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {bottom + MARGIN:g}" role="img">',
        f"<title>{name}: units and dependencies</title>",
        f'<rect {size} fill="#fbfcfe"/>',
        f'<g font-family="{_FONT}" font-size="11.5">',
        *_head(compiled, name),
        *_body(compiled, drawing),
        *legend,
        *notes,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def rule_style(rule: str) -> RuleStyle:
    """The style of a rule; a solid dark line for a rule that `RULE_STYLES` does not list."""
    return RULE_STYLES.get(rule, _UNKNOWN_RULE)


def rule_label(rule: str) -> str:
    """The rule with its name: `R4 def-use`."""
    return f"{rule} {rule_style(rule).name}".rstrip()


def unit_tooltip(unit: Unit, files: Mapping[str, SkillFile]) -> str:
    """The text shown when a reader points at a unit."""
    lines = [escape_line(unit.id), f"{unit.kind} ({unit.form})" if unit.form else str(unit.kind)]
    lines += [location(extent) for extent in unit.extents]
    lines += [" > ".join(escape_line(title) for title in unit.section)] if unit.section else []
    words = first_words(unit, files, 300)
    return "\n".join([*lines, words] if words else lines)


def edge_tooltip(edge: Edge) -> str:
    """The text shown when a reader points at an edge."""
    lines = [rule_label(edge.rule), f"{escape_line(edge.source)} needs {escape_line(edge.target)}"]
    lines += [shorten(escape_line(edge.evidence), 300)] if edge.evidence else []
    places = [str(at) for at in (edge.at, edge.target_at) if at is not None]
    lines += [escape_line(" -> ".join(places))] if places else []
    return "\n".join(lines)


def _head(compiled: CompiledSkill, name: str) -> Iterator[str]:
    content = sum(edge.rule != "R6" for edge in compiled.edges)
    yield f'<text x="{MARGIN}" y="30" font-size="18" font-weight="700" fill="#0f172a">{name}</text>'
    counts = f"{len(compiled.execution)} units and the frontmatter (trigger), {content} dependencies"
    yield f'<text x="{MARGIN}" y="50" fill="#475569">{counts}. An arrow points at what a unit needs.</text>'
    if any(edge.rule == "R6" for edge in compiled.edges):
        words = "Every unit also needs the frontmatter; those arrows are not drawn."
        yield f'<text x="{MARGIN}" y="66" fill="#475569">{words}</text>'


def _body(compiled: CompiledSkill, drawing: Drawing) -> Iterator[str]:
    files = files_by_path(compiled)
    yield from (_lane(lane) for lane in drawing.lanes)
    yield from (line for trunk in drawing.trunks for line in _trunk(trunk))
    main = compiled.skill.main
    yield from (line for box in drawing.boxes for line in _box(box, compiled.unit[box.unit], files, main))


def _lane(lane: Lane) -> str:
    title = escape(shorten(escape_line(lane.name), 90))
    return (
        f'<rect x="{lane.x:g}" y="{lane.y:g}" width="{lane.width:g}" height="{lane.height:g}" rx="6" '
        f'fill="#64748b" fill-opacity="0.05" stroke="#cbd5e1"/>'
        f'<text x="{lane.x + 9:g}" y="{lane.y + 15:g}" font-weight="600" fill="#334155">{title}</text>'
    )


def _trunk(trunk: Trunk) -> Iterator[str]:
    style = rule_style(trunk.rule)
    yield f'<g fill="none" stroke="{style.colour}">'
    heights = [branch.height for branch in trunk.branches]
    needs = f"{rule_label(trunk.rule)}\n{escape_line(trunk.target)} is needed by {plural(len(heights), 'unit')}"
    ends = [end for end in (min(heights), max(heights)) if end != trunk.end]
    sides = dict.fromkeys(end > trunk.end for end in ends)
    stems = [_stem(trunk, max(heights) if below else min(heights)) for below in sides]
    yield _line("".join(stems) or f"M{trunk.x:g} {trunk.end:g}H{trunk.tip + 5:g}", needs, style)
    for branch in trunk.branches:
        bend = _bend(branch.height, trunk.end)
        path = f"M{branch.start:g} {branch.height:g}H{trunk.x + abs(bend):g}"
        path += f"Q{trunk.x:g} {branch.height:g} {trunk.x:g} {branch.height + bend:g}"
        yield _line(path, edge_tooltip(branch.edge), style)
    yield f'<path d="M{trunk.tip:g} {trunk.end:g}l6 -3.2v6.4z" fill="{style.colour}" stroke="none"/></g>'


def _stem(trunk: Trunk, far: float) -> str:
    """The line from the farthest branch on one side to the tip of the arrow."""
    bend = _bend(far, trunk.end)
    path = f"M{trunk.x:g} {far + bend:g}V{trunk.end - bend:g}"
    return f"{path}Q{trunk.x:g} {trunk.end:g} {trunk.x - abs(bend):g} {trunk.end:g}H{trunk.tip + 5:g}"


def _bend(start: float, end: float) -> float:
    """The radius of a corner between two heights; negative if the line goes up."""
    return max(-5.0, min(5.0, (end - start) / 2))


def _line(path: str, tooltip: str, style: RuleStyle) -> str:
    # The wide, invisible stroke makes the line easy to point at.
    return (
        f"<g><title>{escape(tooltip)}</title>"
        f'<path d="{path}" stroke-width="9" stroke-opacity="0"/>'
        f'<path d="{path}" stroke-width="1.5"{_dashed(style)}/></g>'
    )


def _box(box: Box, unit: Unit, files: Mapping[str, SkillFile], main: str) -> Iterator[str]:
    heavy = ' stroke-width="2"' if unit.kind in {UnitKind.COMPOSITE, UnitKind.TRIGGER} else ""
    yield f"<g><title>{escape(unit_tooltip(unit, files))}</title>"
    yield (
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" '
        f'fill="{KIND_FILLS[unit.kind]}" stroke="#64748b"{heavy}/>'
    )
    number, words = _label(unit, files, main)
    yield (
        f'<text x="{box.x + 7:g}" y="{box.y + 16:g}" fill="#0f172a"><tspan fill="#64748b">{escape(number)}</tspan>'
        f" {escape(words)}</text></g>"
    )


def _label(unit: Unit, files: Mapping[str, SkillFile], main: str) -> tuple[str, str]:
    """The text of a box: the line number, or the number of merged units, and the first words that fit."""
    if unit.kind is UnitKind.COMPOSITE:
        number = f"{len(unit.extents)} units"
    else:
        number = "" if unit.kind is UnitKind.RESOURCE else str(unit.lines.first)
    if unit.kind is UnitKind.RESOURCE:
        words = escape_line(unit.file)
    elif unit.kind is not UnitKind.COMPOSITE or unit.file == main:
        words = _MARKUP.sub("", first_words(unit, files))
    else:
        words = ", ".join(escape_line(extent.file.rpartition("/")[2]) for extent in unit.extents)
    return number, _fit(words, BOX_WIDTH - 20 - sum(map(_letter_width, number)))


def _fit(text: str, width: float) -> str:
    """As much of the text as fits into `width` pixels."""
    ends = list(accumulate(map(_letter_width, text)))
    if not ends or ends[-1] <= width:
        return text
    return text[: bisect_right(ends, width - 11)].rstrip() + "…"


def _letter_width(letter: str) -> float:
    return _WIDTHS.get(letter, 12.0 if letter > "\u2e80" else 8.0 if letter.isupper() else 6.9)


def _legend_entries(compiled: CompiledSkill) -> list[tuple[str, str]]:
    """The kinds and rules that occur, as ("kind" or "rule", name)."""
    kinds = {unit.kind for unit in compiled.units}
    rules = {edge.rule for edge in compiled.edges} - {"R6"}
    return [("kind", kind) for kind in KIND_FILLS if kind in kinds] + [("rule", rule) for rule in sorted(rules)]


def _legend(compiled: CompiledSkill, top: float, width: float) -> tuple[list[str], float]:
    """The legend, and the height at which it ends."""
    per_row = max(1, int((width - 2 * MARGIN) // _ENTRY_WIDTH))
    entries = _legend_entries(compiled)
    parts = []
    for index, (group, name) in enumerate(entries):
        x = MARGIN + _ENTRY_WIDTH * (index % per_row)
        y = top + _LEGEND_STEP * (index // per_row)
        parts.append(_kind_sample(name, x, y) if group == "kind" else _rule_sample(name, x, y))
        label = name if group == "kind" else rule_label(name)
        parts.append(f'<text x="{x + 28:g}" y="{y + 10:g}" fill="#334155">{escape(label)}</text>')
    return parts, top + _LEGEND_STEP * -(-len(entries) // per_row)


def _kind_sample(kind: str, x: float, y: float) -> str:
    fill = KIND_FILLS[UnitKind(kind)]
    return f'<rect x="{x:g}" y="{y:g}" width="18" height="12" rx="3" fill="{fill}" stroke="#64748b"/>'


def _rule_sample(rule: str, x: float, y: float) -> str:
    style = rule_style(rule)
    return f'<path d="M{x:g} {y + 6:g}h22" stroke="{style.colour}" stroke-width="2" fill="none"{_dashed(style)}/>'


def _dashed(style: RuleStyle) -> str:
    return f' stroke-dasharray="{style.dash}"' if style.dash else ""


def _notes(compiled: CompiledSkill, top: float) -> tuple[list[str], float]:
    """The repairs as sentences, and the height at which they end."""
    notes = [
        f"Opened: {escape_line(repair.expanded)} in {escape_line(repair.node)} ({' '.join(repair.rules)})"
        for repair in compiled.repairs[:_NOTES_SHOWN]
    ]
    if len(compiled.repairs) > _NOTES_SHOWN:
        notes.append(f"… and {len(compiled.repairs) - _NOTES_SHOWN} more blocks opened")
    parts = [
        f'<text x="{MARGIN}" y="{top + 12 + _NOTE_STEP * index:g}" fill="#475569">{escape(shorten(note, 110))}</text>'
        for index, note in enumerate(notes)
    ]
    return parts, top + _NOTE_STEP * len(notes)
