"""The value tree: files, sections and units as an icicle chart, as wide as their tokens, coloured by their value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from markupsafe import Markup

from skillsv.model.format import plural, points
from skillsv.model.skill import UnitKind
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.escape import escape_text, shorten
from skillsv.report.figures.axis import MUTED, NEGATIVE, POSITIVE
from skillsv.report.figures.bars import LinkTarget, no_target
from skillsv.report.figures.svg import Figure, drawing, element, link
from skillsv.report.sentences import execution_units, unit_label

# Pixels: the width of the drawing, the height of a row, the mean width of a character.
_WIDTH = 1100.0
_ROW = 36.0
_CHARACTER = 6.3

_LEAST_LETTERS = 4
"""A box with room for fewer letters stays empty."""


@dataclass(slots=True)
class _Node:
    """A file, a section, or a unit while the tree is drawn. The net of an inner node is the sum below it."""

    name: str
    path: tuple[str, ...]
    unit: UnitReport | None = None
    children: dict[str, _Node] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return self.unit.tokens if self.unit else sum(child.tokens for child in self.children.values())

    @property
    def net(self) -> float:
        return self.unit.value.net_or_zero.value if self.unit else sum(child.net for child in self.children.values())

    @property
    def shown_net(self) -> float | None:
        """`net` as text and tables show it: None where no unit of the node has a value yet."""
        return self.net if self.has_value else None

    @property
    def has_value(self) -> bool:
        """Whether some unit of the node has a value."""
        if self.unit:
            return self.unit.value.has_value
        return any(child.has_value for child in self.children.values())

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children.values()), default=0)


@dataclass(frozen=True, slots=True)
class _Box:
    """A node with its place in the drawing."""

    node: _Node
    x: float
    y: float
    width: float


def value_tree(valuation: Valuation, *, target: LinkTarget = no_target) -> Figure:
    """Where tokens and value are. Inner boxes show sums of their units' values, not estimates of their own."""
    root = _tree(valuation)
    reach = max((abs(node.net) for node in _nodes(root)), default=0.0) or 1.0
    parts = [_draw_box(box, reach, target) for box in _place_boxes(root, 0.0, _WIDTH)]
    height = _ROW * root.depth
    svg = drawing(
        _WIDTH, height, "Value tree", "Width is tokens, colour is net value", *parts, class_="value-tree wide"
    )
    rows = [
        (" / ".join(node.path), "unit" if node.unit else "sum", node.tokens, node.shown_net) for node in _nodes(root)
    ]
    return Figure(
        name="value-tree",
        title="Where the value lies",
        svg=svg,
        columns=("path", "kind", "tokens", "net"),
        rows=rows,
        note="The width of a box is its tokens; blue helps, orange harms. A box above others shows the sum of their "
        "values.",
    )


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
    """The boxes above a unit: its file and headings. A resource is a file itself and has none."""
    if unit.kind is UnitKind.RESOURCE:
        return ()
    return unit.section if unit.section[:1] == (unit.file,) else (unit.file, *unit.section)


def _nodes(node: _Node) -> list[_Node]:
    return [node, *(below for child in node.children.values() for below in _nodes(child))]


def _place_boxes(node: _Node, x: float, width: float, level: int = 0) -> list[_Box]:
    boxes = [_Box(node, x, level * _ROW, max(width - 1.0, 0.6))]
    total = sum(max(child.tokens, 1) for child in node.children.values())
    for child in node.children.values():
        share = width * max(child.tokens, 1) / total
        boxes += _place_boxes(child, x, share, level + 1)
        x += share
    return boxes


def _draw_box(box: _Box, reach: float, target: LinkTarget) -> Markup:
    node = box.node
    unresolved = node.unit is not None and node.unit.verdict.action is Action.UNRESOLVED
    strength = 0.06 + 0.44 * math.sqrt(min(1.0, abs(node.net) / reach))
    rect = element(
        "rect",
        x=box.x,
        y=box.y,
        width=box.width,
        height=_ROW - 1,
        rx=2,
        fill=POSITIVE if node.net >= 0 else NEGATIVE,
        fill_opacity=strength,
        stroke=MUTED if unresolved else None,
        stroke_dasharray="3 2" if unresolved else None,
        class_=f"box {'plus' if node.net >= 0 else 'minus'}{' unsure' if unresolved else ''}",
    )
    kind = "net" if node.unit else "sum of nets"
    description = f"{node.name}: {kind} {points(node.shown_net)} points, {plural(node.tokens, 'token')}"
    return link(target(node.unit.id) if node.unit else None, rect, *_texts(box), label=description)


def _texts(box: _Box) -> list[Markup]:
    node, x, y = box.node, box.x + 5, box.y
    letters = int((box.width - 8) / _CHARACTER)
    if letters < _LEAST_LETTERS:
        return []
    number = f"{'' if node.unit else 'Σ '}{points(node.shown_net)}"
    texts = [element("text", shorten(node.name, letters), x=x, y=y + 15, font_size=11)]
    if letters >= len(number):
        texts.append(element("text", number, x=x, y=y + 29, font_size=11, opacity=0.85))
    return texts
