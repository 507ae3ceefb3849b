"""Draw figures like those of the report: SVG text without scripts, with its numbers beside it.

The charts take a valuation, a proof or plain rows. The other names are the parts that a new figure is drawn with.
"""

from skillsv.report.figures import (
    Figure,
    anchor_chart,
    area_chart,
    decision_map,
    pruning_chart,
    value_chart,
    value_tree,
)
from skillsv.report.figures.axis import (
    DASHES,
    FAINT,
    METHODS,
    MUTED,
    NEGATIVE,
    POSITIVE,
    Scale,
    drawable,
    horizontal_axis,
    padded_range,
    vertical_axis,
)
from skillsv.report.figures.svg import Cell, drawing, element, path

__all__ = [
    "DASHES",
    "FAINT",
    "METHODS",
    "MUTED",
    "NEGATIVE",
    "POSITIVE",
    "Cell",
    "Figure",
    "Scale",
    "anchor_chart",
    "area_chart",
    "decision_map",
    "drawable",
    "drawing",
    "element",
    "horizontal_axis",
    "padded_range",
    "path",
    "pruning_chart",
    "value_chart",
    "value_tree",
    "vertical_axis",
]
