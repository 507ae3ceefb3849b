"""The answer as people and programs read it: page, terminal, Markdown, JSON, JUnit. Pure functions of finished data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillsv.report.html import page
    from skillsv.report.valuation_json import valuation_dict

__all__ = ["page", "valuation_dict"]

_HOME = {"page": "skillsv.report.html", "valuation_dict": "skillsv.report.valuation_json"}


def __getattr__(name: str) -> Any:
    # `skillsv compile` needs the outline alone: the page and its figures are imported by those who ask for them.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
