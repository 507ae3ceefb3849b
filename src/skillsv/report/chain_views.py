"""Chains as the page lists them: every scored prefix, task by task, down to the rollouts that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.coalition import ChainRecord, ChainStep, Operator
from skillsv.model.rollout import Rollout
from skillsv.report.escape import clip, escape_text, shortened
from skillsv.report.figures.chains import score_marks
from skillsv.report.marginals import Marginal, mean, moments
from skillsv.report.unit_views import UnitView

# Rollouts to read: which ones the page carries, chosen so that the telling ones come first.

Place = tuple[str, str]
"""A rollout as the chains name it: digest of the rendered tree, task id."""

_LONGEST = 8_000
_FRAME = 300  # what a transcript costs besides its text: its frame, and the links that lead to it


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One rollout as the page shows it."""

    anchor: str
    task: str
    tree: str
    score: float | None
    failure: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSet:
    """The transcripts a page carries, by place, and how many there were to choose from."""

    kept: Mapping[Place, Transcript]
    available: int
    limit: int

    def anchor(self, tree: str, task: str) -> str | None:
        """Where to find a rollout on the page, None if it is not carried."""
        found = self.kept.get((tree, task))
        return found.anchor if found else None


def telling_places(marginals: Mapping[str, Sequence[Marginal]], each: int = 3) -> list[Place]:
    """The rollouts worth reading: for each unit those where it made the largest difference, up and down."""
    places: dict[Place, None] = {}
    for items in marginals.values():
        changes = moments(items)
        for moment in (*reversed(changes[-each:]), *changes[:each]):
            places[moment.trees[1], moment.task] = None
    return list(places)


def shelf(rollouts: Sequence[Rollout], wanted: Iterable[Place], limit: int) -> TranscriptSet:
    """The wanted rollouts first, then the others, until `limit` characters are used."""
    known = {(rollout.key.tree, rollout.task_id): rollout for rollout in rollouts}
    order = dict.fromkeys([*(place for place in wanted if place in known), *known])
    kept: dict[Place, Transcript] = {}
    used = 0
    for place in order:
        transcript = _transcript(known[place], len(kept) + 1)
        used += len(transcript.text) + _FRAME
        if used > limit:
            break
        kept[place] = transcript
    return TranscriptSet(kept=kept, available=len(known), limit=limit)


def _transcript(rollout: Rollout, number: int) -> Transcript:
    failure = f"{rollout.failure.kind}: {rollout.failure.message}" if rollout.failure else ""
    return Transcript(
        anchor=f"rollout-{number}",
        task=escape_text(rollout.task_id),
        tree=rollout.key.tree,
        score=rollout.score,
        failure=escape_text(clip(failure, 400)),
        text=clip(escape_text(rollout.transcript or rollout.answer), _LONGEST),
    )


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


def chain_views(records: Sequence[ChainRecord], units: Mapping[str, UnitView], books: TranscriptSet) -> list[ChainView]:
    """All chains in the order of the records."""
    return [_chain(record, units, books) for record in records]


def _chain(record: ChainRecord, units: Mapping[str, UnitView], books: TranscriptSet) -> ChainView:
    prefixes: dict[int, dict[Operator, ChainStep]] = {}
    for step in record.steps:
        prefixes.setdefault(step.position, {})[step.operator] = step
    return ChainView(
        number=record.plan.index + 1,
        operators=tuple(str(operator) for operator in record.plan.operators),
        tasks=tuple(escape_text(task) for task in record.plan.window.tasks),
        empty=score_marks(record.empty),
        full=score_marks(record.full),
        steps=tuple(_step(position, prefixes[position], record, units, books) for position in sorted(prefixes)),
        truncated_at=record.truncated_at,
        length=len(record.plan.order),
    )


def _step(
    position: int,
    steps: Mapping[Operator, ChainStep],
    record: ChainRecord,
    units: Mapping[str, UnitView],
    books: TranscriptSet,
) -> StepView:
    name = record.plan.order[position]
    unit = units.get(name)
    return StepView(
        position=position + 1,
        anchor=unit.anchor if unit else None,
        name=shortened(unit.label if unit else escape_text(name), _NAME),
        cells=tuple(_cell(steps.get(operator), record.plan.window.tasks, books) for operator in record.plan.operators),
    )


def _cell(step: ChainStep | None, tasks: Sequence[str], books: TranscriptSet) -> CellView:
    if step is None:
        return CellView(score=None, marks="")
    found = ((task, books.anchor(step.tree, task)) for task in tasks)
    links = tuple((escape_text(task), anchor) for task, anchor in found if anchor)
    return CellView(score=mean(step.scores), marks=score_marks(step.scores), links=links)
