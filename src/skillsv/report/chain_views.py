"""Chains as the page lists them: every scored prefix, task by task, down to the rollouts that can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.chain import ChainRecord, ChainStep
from skillsv.model.coalition import Operator
from skillsv.report.figures.chains import score_marks
from skillsv.report.marginals import mean, steps_of
from skillsv.report.transcripts import Shelf
from skillsv.report.units import UnitView
from skillsv.report.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One scored prefix. `links` leads to the rollouts of this prefix that the page carries: mark and anchor."""

    operator: str
    position: int
    unit: UnitView | None
    name: str
    score: float | None
    marks: str
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainView:
    """One chain: its window, its anchors, its prefixes, and where it stopped."""

    number: int
    tasks: tuple[str, ...]
    empty: str
    full: str
    steps: tuple[StepView, ...]
    truncated_at: int | None
    length: int


def chain_views(records: Sequence[ChainRecord], units: Mapping[str, UnitView], books: Shelf) -> list[ChainView]:
    """All chains in the order of the records."""
    return [_chain(record, units, books) for record in records]


def _chain(record: ChainRecord, units: Mapping[str, UnitView], books: Shelf) -> ChainView:
    steps = [
        _step(step, record, operator, units, books)
        for operator in record.plan.operators
        for step in steps_of(record, operator)
    ]
    return ChainView(
        number=record.plan.index + 1,
        tasks=tuple(visible(task) for task in record.plan.window.tasks),
        empty=score_marks(record.empty),
        full=score_marks(record.full),
        steps=tuple(steps),
        truncated_at=record.truncated_at,
        length=len(record.plan.order),
    )


def _step(
    step: ChainStep, record: ChainRecord, operator: Operator, units: Mapping[str, UnitView], books: Shelf
) -> StepView:
    unit = units.get(step.unit)
    found = ((task, books.anchor(step.tree, task)) for task in record.plan.window.tasks)
    return StepView(
        operator=str(operator),
        position=step.position + 1,
        unit=unit,
        name=unit.label if unit else visible(step.unit),
        score=mean(step.scores),
        marks=score_marks(step.scores),
        links=tuple((visible(task), anchor) for task, anchor in found if anchor),
    )
