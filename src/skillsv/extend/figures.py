"""Draw figures like those of the report: SVG text without scripts, with its numbers beside it.

The figures of a valuation are in `Valuation.plot`. The charts here take curves and rows; the other names are the parts
that a new figure is drawn with.
"""

from skillsv.report.figures import Figure, area_chart, pruning_chart
from skillsv.report.figures.axis import (
    DASHES,
    FAINT,
    METHODS,
    MUTED,
    Scale,
    drawable,
    horizontal_axis,
    padded_range,
    vertical_axis,
)
from skillsv.report.figures.svg import Cell, drawing, element, path
from skillsv.report.verdict_styles import NEGATIVE, POSITIVE

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
    "area_chart",
    "drawable",
    "drawing",
    "element",
    "horizontal_axis",
    "padded_range",
    "path",
    "pruning_chart",
    "vertical_axis",
]
