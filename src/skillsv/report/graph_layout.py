"""The positions of boxes, lanes and lines in the drawing of a compiled skill.

Every unit has its own row, in the order of the hierarchy, and is in the column of its depth: units of column 0 need
only the trigger, units of each further column need a unit of an earlier column. The row left of a unit and the gap
beside a column are therefore empty: an edge runs left along the row of its source, then along a track in the gap beside
its target, and never behind a box.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skillsv.model.skill import Block, CompiledSkill, Edge, Leaf

# All lengths are in pixels.

BOX_WIDTH = 300
"""Width of a unit's box."""

BOX_HEIGHT = 24
"""Height of a unit's box: one line of text."""

ROW_STEP = 32
"""Distance between the tops of two rows."""

HEADER_STEP = 24
"""Height of a section's title above its first row."""

LANE_INSET = 9
"""Distance between the edges of a section and of the section around it."""

LANE_GAP = 8
"""Distance below a section."""

MARGIN = 20
"""Empty space around the drawing."""

TRACK_STEP = 7
"""Distance between two vertical lines in the gap beside a column."""

TRACK_MARGIN = 16
"""Distance between a column and the first vertical line beside it."""

PORT_STEP = 5
"""Largest distance between two edges that meet the same side of a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One unit: the upper left corner of its box."""

    unit: str
    x: float
    y: float

    @property
    def middle(self) -> float:
        """The height at which edges meet the box."""
        return self.y + BOX_HEIGHT / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One section: the rectangle around its units."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One edge, from the left side of the unit that needs, along its row, to the trunk."""

    edge: Edge
    start: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trunk:
    """All edges of one rule to one unit: a vertical line in the gap beside it, then into its right side at `end`.

    The edges share the line, because dashes drawn over each other would look like a solid line.
    """

    rule: str
    target: str
    x: float
    tip: float
    end: float
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """All positions of a drawing, in pixels."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lanes: tuple[Lane, ...]
    trunks: tuple[Trunk, ...]


@dataclass(slots=True)
class _Rows:
    """Heights of units and lanes, in the order of the hierarchy."""

    units: dict[str, float]
    lanes: list[tuple[str, int, float, float]]
    depth: int
    bottom: float


def lay_out(compiled: CompiledSkill, *, top: float) -> Drawing:
    """Place all units, sections and content edges, beginning at height `top`. The trigger's edges are not drawn."""
    edges = tuple(edge for edge in compiled.edges if compiled.trigger not in {edge.source, edge.target})
    rows = _rows(compiled.hierarchy, top)
    column = _columns([unit.id for unit in compiled.units], edges)
    tracks, widest = _tracks(edges, column, rows.units)
    lefts, right = _lefts(max(column.values(), default=0) + 1, widest, MARGIN + LANE_INSET * (rows.depth + 1))
    width = right + LANE_INSET * (rows.depth + 1) + MARGIN
    boxes = tuple(Box(unit=unit, x=lefts[column[unit]], y=height) for unit, height in rows.units.items())
    lanes = tuple(
        Lane(
            name=name,
            x=MARGIN + LANE_INSET * depth,
            y=start,
            width=width - 2 * (MARGIN + LANE_INSET * depth),
            height=end - start,
        )
        for name, depth, start, end in rows.lanes
    )
    trunks = tuple(_trunks(edges, {box.unit: box for box in boxes}, tracks))
    return Drawing(width=width, height=rows.bottom, boxes=boxes, lanes=lanes, trunks=trunks)


def _rows(root: Block, top: float) -> _Rows:
    rows = _Rows(units={}, lanes=[], depth=0, bottom=top)
    # The index of a lane is on the stack below its children: when it is popped, the lane ends.
    stack: list[tuple[Block | Leaf | int, int]] = [(child, 0) for child in reversed(root.children)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, Leaf):
            rows.units[node.unit] = rows.bottom
            rows.bottom += ROW_STEP
        elif isinstance(node, Block):
            stack.append((len(rows.lanes), depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
            rows.lanes.append((node.name, depth, rows.bottom, rows.bottom))
            rows.depth = max(rows.depth, depth)
            rows.bottom += HEADER_STEP
        else:
            name, _, start, _ = rows.lanes[node]
            rows.lanes[node] = (name, depth, start, rows.bottom)
            rows.bottom += LANE_GAP
    return rows


def _columns(units: Sequence[str], edges: Iterable[Edge]) -> dict[str, int]:
    """For each unit the length of the longest chain of needs that starts at it."""
    needed_by: dict[str, list[str]] = defaultdict(list)
    waiting = dict.fromkeys(units, 0)
    for edge in edges:
        needed_by[edge.target].append(edge.source)
        waiting[edge.source] += 1
    column = dict.fromkeys(units, 0)
    ready = [unit for unit in units if not waiting[unit]]
    while ready:
        unit = ready.pop()
        for other in needed_by[unit]:
            column[other] = max(column[other], column[unit] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return column


def _tracks(
    edges: Iterable[Edge], column: dict[str, int], heights: dict[str, float]
) -> tuple[dict[tuple[str, str], int], dict[int, int]]:
    """A track for every (target, rule) in the gap beside the target's column, and the number of tracks per gap."""
    spans: dict[int, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges:
        spans[column[edge.target]][edge.target, edge.rule] += [heights[edge.source], heights[edge.target]]
    tracks: dict[tuple[str, str], int] = {}
    widest: dict[int, int] = {}
    for gap, bundles in spans.items():
        busy: list[tuple[float, int]] = []
        free: list[int] = []
        used = 0
        for low, high, bundle in sorted((min(ends), max(ends), bundle) for bundle, ends in bundles.items()):
            while busy and busy[0][0] < low:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if free:
                track = heapq.heappop(free)
            else:
                track, used = used, used + 1
            tracks[bundle] = track
            heapq.heappush(busy, (high, track))
        widest[gap] = used
    return tracks, widest


def _lefts(columns: int, widest: dict[int, int], left: float) -> tuple[list[float], float]:
    lefts = []
    for column in range(columns):
        lefts.append(left)
        tracks = widest.get(column, 0)
        left += BOX_WIDTH + (2 * TRACK_MARGIN + TRACK_STEP * (tracks - 1) if tracks else 0)
    return lefts, left


def _trunks(edges: Sequence[Edge], boxes: dict[str, Box], tracks: dict[tuple[str, str], int]) -> Iterator[Trunk]:
    leaving: dict[str, list[tuple[str, str]]] = defaultdict(list)
    arriving: dict[str, list[str]] = defaultdict(list)
    bundles: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in edges:
        bundle = (edge.target, edge.rule)
        if bundle not in leaving[edge.source]:
            leaving[edge.source].append(bundle)
        if edge.rule not in arriving[edge.target]:
            arriving[edge.target].append(edge.rule)
        bundles[bundle].append(edge)
    for (target, rule), members in bundles.items():
        box = boxes[target]
        yield Trunk(
            rule=rule,
            target=target,
            x=box.x + BOX_WIDTH + TRACK_MARGIN + TRACK_STEP * tracks[target, rule],
            tip=box.x + BOX_WIDTH,
            end=box.middle + _port(arriving[target].index(rule), len(arriving[target])),
            branches=tuple(_branch(edge, boxes[edge.source], leaving[edge.source]) for edge in members),
        )


def _branch(edge: Edge, source: Box, leaving: Sequence[tuple[str, str]]) -> Branch:
    port = _port(leaving.index((edge.target, edge.rule)), len(leaving))
    return Branch(edge=edge, start=source.x, height=source.middle + port)


def _port(index: int, count: int) -> float:
    """The distance from the middle of a box at which the edge with this index meets it."""
    return (index - (count - 1) / 2) * min(PORT_STEP, (BOX_HEIGHT - 4) / count)
