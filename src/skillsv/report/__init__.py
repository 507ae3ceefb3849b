"""The answer as people and programs read it: page, terminal, Markdown, JSON, JUnit. Pure functions of finished data."""

from skillsv.report.as_json import valuation_dict
from skillsv.report.document import page

__all__ = ["page", "valuation_dict"]
