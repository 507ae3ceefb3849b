"""The value tree: files, sections and units as an icicle, as wide as their tokens, coloured by their value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from markupsafe import Markup

from skillsv.model.skill import UnitKind
from skillsv.model.value import Action, UnitReport, Valuation
from skillsv.report.escape import escape_text, shortened
from skillsv.report.figures.axis import MUTED, NEGATIVE, POSITIVE
from skillsv.report.figures.bars import Target, nowhere
from skillsv.report.figures.svg import Figure, drawing, element, link
from skillsv.report.format import execution, label, plural, points

_WIDTH, _ROW, _CHARACTER = 1100.0, 36.0, 6.3


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
        return self.unit.value.net.value if self.unit else sum(child.net for child in self.children.values())

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children.values()), default=0)


@dataclass(frozen=True, slots=True)
class _Box:
    """A node at its place on paper."""

    node: _Node
    x: float
    y: float
    width: float


def value_tree(valuation: Valuation, *, target: Target = nowhere) -> Figure:
    """Where the tokens and the value lie. Inner boxes carry sums of their units' values, not estimates of their own."""
    root = _tree(valuation)
    reach = max((abs(node.net) for node in _nodes(root)), default=0.0) or 1.0
    parts = [_drawn_box(box, reach, target) for box in _placed(root, 0.0, _WIDTH)]
    height = _ROW * root.depth
    svg = drawing(
        _WIDTH, height, "Value tree", "Width is tokens, colour is net value", *parts, class_="value-tree wide"
    )
    rows = [(" / ".join(node.path), "unit" if node.unit else "sum", node.tokens, node.net) for node in _nodes(root)]
    return Figure(
        name="value-tree",
        title="Where the value lies",
        svg=svg,
        columns=("path", "kind", "tokens", "net"),
        rows=rows,
        note="As wide as its tokens; blue helps, orange harms. A box above others carries the sum of their values.",
    )


def _tree(valuation: Valuation) -> _Node:
    name = escape_text(str(valuation.skill.get("name", "skill")))
    root = _Node(name, (name,))
    for unit in execution(valuation):
        node = root
        for step in _above(unit):
            title = escape_text(step)
            node = node.children.setdefault(f"/{step}", _Node(title, (*node.path, title)))
        node.children[unit.id] = _Node(label(unit), (*node.path, label(unit)), unit)
    return root


def _above(unit: UnitReport) -> tuple[str, ...]:
    """The boxes over a unit: its file and headings; a resource is a file and stands for itself."""
    if unit.kind is UnitKind.RESOURCE:
        return ()
    return unit.section if unit.section[:1] == (unit.file,) else (unit.file, *unit.section)


def _nodes(node: _Node) -> list[_Node]:
    return [node, *(below for child in node.children.values() for below in _nodes(child))]


def _placed(node: _Node, x: float, width: float, level: int = 0) -> list[_Box]:
    boxes = [_Box(node, x, level * _ROW, max(width - 1.0, 0.6))]
    total = sum(max(child.tokens, 1) for child in node.children.values())
    for child in node.children.values():
        share = width * max(child.tokens, 1) / total
        boxes += _placed(child, x, share, level + 1)
        x += share
    return boxes


def _drawn_box(box: _Box, reach: float, target: Target) -> Markup:
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
    what = "net" if node.unit else "sum of nets"
    spoken = f"{node.name}: {what} {points(node.net)} points, {plural(node.tokens, 'token')}"
    return link(target(node.unit.id) if node.unit else None, rect, *_words(box), label=spoken)


def _words(box: _Box) -> list[Markup]:
    node, x, y = box.node, box.x + 5, box.y
    letters = int((box.width - 8) / _CHARACTER)
    if letters < 4:
        return []
    number = f"{'' if node.unit else 'Σ '}{points(node.net)}"
    words = [element("text", shortened(node.name, letters), x=x, y=y + 15, font_size=11)]
    if letters >= len(number):
        words.append(element("text", number, x=x, y=y + 29, font_size=11, opacity=0.85))
    return words
