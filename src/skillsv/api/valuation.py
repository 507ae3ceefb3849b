"""The result of a run as an object: values, intervals and verdicts of all units, as a table, figures and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from skillsv.errors import SettingsError
from skillsv.model import value as model
from skillsv.model.skill import find_unit
from skillsv.model.valuation_document import ValuationDocument
from skillsv.model.value import Anchors, Closure, Interval, SectionValue, UnitReport
from skillsv.report.figures import Figure

PlotKind = Literal["waterfall", "bars", "decision", "tree", "concentration", "anchors"]
"""The figures of a valuation."""

REPR_WIDTH = 100
"""Columns of the table that `print(valuation)` shows."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Valuation(model.Valuation):
    r"""What each unit of a skill is worth. Immutable; a notebook shows it as a table.

    >>> import skillsv as sv
    >>> def answer(skill, task):
    ...     return "short" if skill and "brief" in skill.text else "long"
    >>> run = sv.value("# Tone\n\n- Be brief.\n- Be kind.\n", agent=answer, max_rollouts=200,
    ...     tasks=[{"input": f"question {number}", "target": "short"} for number in range(40)])
    >>> [(unit.text.strip(), unit.net.value, str(unit.action)) for unit in run.valuation.units]
    [('- Be brief.', 1.0, 'keep'), ('- Be kind.', 0.0, 'idle')]
    >>> run.valuation["tone/bullet-1"].net.low > 0.5
    True

    Amounts of score are shares of 1 here and in `to_dict()` and `to_frame()`; tables and figures for people show points
    of a hundred. `notes` are sentences about the run. `provisional`: the run was not finished.
    """

    @classmethod
    def of(cls, valuation: model.Valuation) -> Valuation:
        """The same valuation with the methods of this class."""
        return cls(**{item.name: getattr(valuation, item.name) for item in fields(model.Valuation)})

    @property
    def anchors(self) -> Anchors:
        """The scores of the bare agent, of the trigger alone, and of the full skill."""
        return self.estimate.anchors

    @property
    def content_lift(self) -> Interval:
        """What all units together add to the trigger."""
        return self.estimate.content_lift

    @property
    def closure(self) -> Closure:
        """The check that the values add up to the content lift."""
        return self.estimate.closure

    @property
    def sections(self) -> tuple[SectionValue, ...]:
        """The sums of values below each heading."""
        return self.estimate.sections

    def __getitem__(self, name: str) -> UnitReport:
        """The unit of this name: its id, the beginning of its id, or its number among its kind."""
        units = {unit.id: unit for unit in self.units}
        return units[find_unit(tuple(units), name)]

    def to_dict(self) -> ValuationDocument:
        """The JSON `skillsv.valuation/1`."""
        from skillsv.report.valuation_json import valuation_dict

        return valuation_dict(self)

    def plot(self, kind: PlotKind = "waterfall") -> Figure:
        """A figure of the report: a notebook shows it, `str(figure.svg)` is the drawing, `figure.rows` its numbers."""
        draw = _plots().get(kind)
        if draw is None:
            raise SettingsError(f"there is no figure '{kind}'.", hint=f"The figures are: {', '.join(_plots())}.")
        figure = draw(self)
        if figure is None:
            raise SettingsError(
                f"this run has no data for the figure '{kind}'.", hint="Value the skill with operators='delete,pad'."
            )
        return figure

    def __repr__(self) -> str:
        from io import StringIO

        from rich.console import Console

        from skillsv.report.text import terminal_table

        out = StringIO()
        Console(file=out, width=REPR_WIDTH).print(terminal_table(self, width=REPR_WIDTH, colour=False))
        return out.getvalue().rstrip("\n")


def _plots() -> Mapping[str, Callable[[model.Valuation], Figure | None]]:
    from skillsv.report import figures

    return {
        "waterfall": figures.waterfall,
        "bars": figures.value_chart,
        "decision": figures.decision_map,
        "tree": figures.section_list,
        "concentration": figures.concentration_chart,
        "anchors": figures.anchor_chart,
    }
