"""Chains as the page lists them: every scored prefix, task by task, down to the rollouts that can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.chain import ChainRecord, ChainStep
from skillsv.model.coalition import Operator
from skillsv.report.excerpt import shortened
from skillsv.report.figures.chains import score_marks
from skillsv.report.marginals import mean
from skillsv.report.transcripts import Shelf
from skillsv.report.units import UnitView
from skillsv.report.visible import visible

_NAME = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """The score of one prefix under one operator; `links` leads to those of its rollouts that the page carries."""

    score: float | None
    marks: str
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One prefix: the unit that came in, and a cell for each operator."""

    position: int
    anchor: str | None
    name: str
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainView:
    """One chain: its window, its anchors, its prefixes, and where it stopped."""

    number: int
    operators: tuple[str, ...]
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
    prefixes: dict[int, dict[Operator, ChainStep]] = {}
    for step in record.steps:
        prefixes.setdefault(step.position, {})[step.operator] = step
    return ChainView(
        number=record.plan.index + 1,
        operators=tuple(str(operator) for operator in record.plan.operators),
        tasks=tuple(visible(task) for task in record.plan.window.tasks),
        empty=score_marks(record.empty),
        full=score_marks(record.full),
        steps=tuple(_step(position, prefixes[position], record, units, books) for position in sorted(prefixes)),
        truncated_at=record.truncated_at,
        length=len(record.plan.order),
    )


def _step(
    position: int, steps: Mapping[Operator, ChainStep], record: ChainRecord, units: Mapping[str, UnitView], books: Shelf
) -> StepView:
    name = record.plan.order[position]
    unit = units.get(name)
    return StepView(
        position=position + 1,
        anchor=unit.anchor if unit else None,
        name=shortened(unit.label if unit else visible(name), _NAME),
        cells=tuple(_cell(steps.get(operator), record.plan.window.tasks, books) for operator in record.plan.operators),
    )


def _cell(step: ChainStep | None, tasks: Sequence[str], books: Shelf) -> CellView:
    if step is None:
        return CellView(score=None, marks="")
    found = ((task, books.anchor(step.tree, task)) for task in tasks)
    links = tuple((visible(task), anchor) for task, anchor in found if anchor)
    return CellView(score=mean(step.scores), marks=score_marks(step.scores), links=links)
