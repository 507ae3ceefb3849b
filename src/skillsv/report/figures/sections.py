"""The section list: files and headings, indented, with the sum of their lines' values as a bar."""

from __future__ import annotations

from dataclasses import dataclass, field

from markupsafe import Markup

from skillsv.model.format import count, plural, points
from skillsv.model.skill import UnitKind
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.escape import escape_text
from skillsv.report.figures.axis import MUTED, VERDICT, Scale, horizontal_axis, padded_range
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Figure, drawing, element, fit_text, link
from skillsv.report.sentences import execution_units, unit_label

# Pixels: the edges of the plot, the height of a row, half the height of a bar, the space above and below the plot.
_LEFT = 380.0
_RIGHT = 680.0
_ROW = 26.0
_HALF = 7.0
_TOP = 26.0
_BELOW = 40.0

_INDENT = 18.0
"""Pixels by which a heading stands to the right of the one above it."""

_NUMBERS = (754.0, 826.0, 892.0)
"""Pixels: the right edges of the columns net, lines and tokens."""


@dataclass(slots=True)
class _Node:
    """The skill, a file, a section or a unit. The net of an inner node is the sum below it."""

    name: str
    path: tuple[str, ...]
    unit: UnitReport | None = None
    children: dict[str, _Node] = field(default_factory=dict)

    @property
    def units(self) -> list[UnitReport]:
        return [self.unit] if self.unit else [unit for child in self.children.values() for unit in child.units]

    @property
    def tokens(self) -> int:
        return sum(unit.tokens for unit in self.units)

    @property
    def net(self) -> float | None:
        """The sum of the values that are known; None where none is."""
        known = [unit.value.net.value for unit in self.units if unit.value.has_value]
        return sum(known) if known else None


def section_list(valuation: Valuation, *, target: LinkTarget = no_target) -> Figure:
    """Where tokens and value are. Each row is the sum of its lines' values, not an estimate of its own."""
    root = _tree(valuation)
    nodes = _nodes(root)
    shown = [(depth, node) for depth, node in nodes if node.children or _is_file(node)]
    nets = [node.net or 0.0 for _, node in shown]
    scale = Scale(*padded_range(nets, include=(0.0,)), _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(shown)
    parts = [horizontal_axis(scale, _TOP, bottom), _headings(bottom)]
    parts += [_row(depth, node, _TOP + _ROW * (i + 0.5), scale, target) for i, (depth, node) in enumerate(shown)]
    svg = drawing(900, bottom + _BELOW, "Sections", f"{len(shown)} rows, sums of values", *parts, class_="sections")
    rows = [(" / ".join(node.path), "unit" if node.unit else "sum", node.tokens, node.net) for _, node in nodes]
    return Figure(
        name="sections",
        title="Value by section",
        svg=svg,
        columns=("path", "kind", "tokens", "net"),
        rows=rows,
        note="A bar is the sum of the values of all lines below a heading, in points.",
    )


def _is_file(node: _Node) -> bool:
    return node.unit is not None and node.unit.kind is UnitKind.RESOURCE


def _tree(valuation: Valuation) -> _Node:
    name = escape_text(str(valuation.skill.get("name", "skill")))
    root = _Node(name, (name,))
    for unit in execution_units(valuation):
        node = root
        for step in _ancestors(unit):
            title = escape_text(step)
            node = node.children.setdefault(f"/{step}", _Node(title, (*node.path, title)))
        node.children[unit.id] = _Node(unit_label(unit), (*node.path, unit_label(unit)), unit)
    return root


def _ancestors(unit: UnitReport) -> tuple[str, ...]:
    """The rows above a unit: its file and headings. A resource is a file itself and has none."""
    if unit.kind is UnitKind.RESOURCE:
        return ()
    return unit.section if unit.section[:1] == (unit.file,) else (unit.file, *unit.section)


def _nodes(node: _Node, depth: int = 0) -> list[tuple[int, _Node]]:
    below = [item for child in node.children.values() for item in _nodes(child, depth + 1)]
    return [(depth, node), *below]


def _headings(bottom: float) -> Markup:
    names = zip(("net", "lines", "tokens"), _NUMBERS, strict=True)
    columns = [element("text", name, x=x, y=_TOP - 10, text_anchor="end") for name, x in names]
    below = element("text", "sum of net effects, points", x=_RIGHT, y=bottom + 34, text_anchor="end")
    return element("g", *columns, below, fill=MUTED, class_="axis")


def _row(depth: int, node: _Node, y: float, scale: Scale, target: LinkTarget) -> Markup:
    x, net = 4 + _INDENT * depth, node.net
    weight = "600" if depth == 0 else None
    name = element("text", fit_text(node.name, _LEFT - 16 - x), x=x, y=y + 4, font_weight=weight)
    parts = [link(target(node.unit.id) if node.unit else None, name)]
    if net:
        action = Action.KEEP if net > 0 else Action.HARMFUL
        start, stop = scale(0.0), scale(net)
        bar = f"M{start:.1f} {y - _HALF:.1f}H{stop:.1f}v{2 * _HALF:.1f}H{start:.1f}z"
        parts.append(element("path", d=bar, fill=VERDICT[action], class_=f"v-{action}"))
    texts = (points(net), str(len(node.units)), count(node.tokens))
    parts += [
        element("text", text, x=place, y=y + 4, text_anchor="end", class_="number")
        for text, place in zip(texts, _NUMBERS, strict=True)
    ]
    title = f"{node.name}: {points(net)} points, {plural(len(node.units), 'line')}, {plural(node.tokens, 'token')}"
    return element("g", element("title", title), *parts)
