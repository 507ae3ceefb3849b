"""Drawings in SVG, one function each: it takes finished data and returns a `Figure` for the page or a notebook."""

from skillsv.report.figures.bars import anchor_chart, margin_bar, margin_scale, value_chart
from skillsv.report.figures.chains import chain_grid, marginal_dots
from skillsv.report.figures.coalitions import coalition_chart
from skillsv.report.figures.concentration import concentration_chart
from skillsv.report.figures.decision import decision_map, has_context_cost
from skillsv.report.figures.matrix import task_matrix
from skillsv.report.figures.minimap import minimap
from skillsv.report.figures.pruning import area_chart, pruning_chart, pruning_path
from skillsv.report.figures.sections import section_list
from skillsv.report.figures.svg import Figure
from skillsv.report.figures.waterfall import waterfall

__all__ = [
    "Figure",
    "anchor_chart",
    "area_chart",
    "chain_grid",
    "coalition_chart",
    "concentration_chart",
    "decision_map",
    "has_context_cost",
    "margin_bar",
    "margin_scale",
    "marginal_dots",
    "minimap",
    "pruning_chart",
    "pruning_path",
    "section_list",
    "task_matrix",
    "value_chart",
    "waterfall",
]
