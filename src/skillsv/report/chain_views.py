"""The page's panel "Chains": every scored prefix, task by task, and the transcripts of rollouts that it carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from skillsv.model.coalition import ChainRecord, ChainStep, Operator
from skillsv.model.rollout import Rollout
from skillsv.report.escape import clip, escape_text, shorten
from skillsv.report.figures.chains import score_marks
from skillsv.report.marginals import Marginal, mean, score_changes
from skillsv.report.unit_views import UnitView

TranscriptKey = tuple[str, str]
"""How chains name a rollout: digest of the rendering, task id."""

TRANSCRIPT_CHARACTERS = 8_000
"""Characters of one transcript that the page shows, so that one long transcript does not fill the page."""

FAILURE_CHARACTERS = 400
"""Characters of a failure's message that the page shows."""

TRANSCRIPT_OVERHEAD = 300
"""Characters that a transcript costs besides its text: its markup and the links to it."""

MOST_STEPS = 2_000
"""Steps of chains that the page shows as tables; the drawing shows all."""

NAME_CHARACTERS = 26
"""Characters of a unit's name in the table of a chain, so that the table fits the page."""


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
    """The transcripts that a page carries, how many there were to choose from, and the limit in characters."""

    by_key: Mapping[TranscriptKey, Transcript]
    available: int
    limit: int

    def anchor(self, tree: str, task: str) -> str | None:
        """The element id of a rollout on the page, None if the page does not carry it."""
        transcript = self.by_key.get((tree, task))
        return transcript.anchor if transcript else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """The score of one prefix under one operator; `links` lead to those of its rollouts that the page carries."""

    score: float | None
    marks: str
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One prefix: the unit that was added, and a cell for each operator."""

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


def find_informative_rollouts(marginals: Mapping[str, Sequence[Marginal]], per_unit: int = 3) -> list[TranscriptKey]:
    """The rollouts worth reading: for each unit those in which it raised or lowered a score the most."""
    keys: dict[TranscriptKey, None] = {}
    for items in marginals.values():
        changes = score_changes(items)
        for change in (*reversed(changes[-per_unit:]), *changes[:per_unit]):
            keys[change.trees[1], change.task] = None
    return list(keys)


def choose_transcripts(rollouts: Sequence[Rollout], first: Iterable[TranscriptKey], limit: int) -> TranscriptSet:
    """Transcripts of the rollouts named by `first`, then of the others, until `limit` characters are used."""
    available = {(rollout.key.tree, rollout.task_id): rollout for rollout in rollouts}
    order = dict.fromkeys([*(key for key in first if key in available), *available])
    chosen: dict[TranscriptKey, Transcript] = {}
    used = 0
    for key in order:
        transcript = _transcript(available[key], len(chosen) + 1)
        used += len(transcript.text) + TRANSCRIPT_OVERHEAD
        if used > limit:
            break
        chosen[key] = transcript
    return TranscriptSet(by_key=chosen, available=len(available), limit=limit)


def _transcript(rollout: Rollout, number: int) -> Transcript:
    failure = f"{rollout.failure.kind}: {rollout.failure.message}" if rollout.failure else ""
    return Transcript(
        anchor=f"rollout-{number}",
        task=escape_text(rollout.task_id),
        tree=rollout.key.tree,
        score=rollout.score,
        failure=escape_text(clip(failure, FAILURE_CHARACTERS)),
        text=clip(escape_text(rollout.transcript or rollout.answer), TRANSCRIPT_CHARACTERS),
    )


def chain_views(
    records: Sequence[ChainRecord], units: Mapping[str, UnitView], transcripts: TranscriptSet
) -> list[ChainView]:
    """The chains in the order of the records, as many as the page has room for; at least one."""
    steps = list(accumulate(len(record.steps) for record in records))
    return [
        _chain(record, units, transcripts)
        for number, record in enumerate(records)
        if not number or steps[number] <= MOST_STEPS
    ]


def _chain(record: ChainRecord, units: Mapping[str, UnitView], transcripts: TranscriptSet) -> ChainView:
    prefixes: dict[int, dict[Operator, ChainStep]] = {}
    for step in record.steps:
        prefixes.setdefault(step.position, {})[step.operator] = step
    return ChainView(
        number=record.plan.index + 1,
        operators=tuple(str(operator) for operator in record.plan.operators),
        tasks=tuple(escape_text(task) for task in record.plan.window.tasks),
        empty=score_marks(record.empty),
        full=score_marks(record.full),
        steps=tuple(_step(position, prefixes[position], record, units, transcripts) for position in sorted(prefixes)),
        truncated_at=record.truncated_at,
        length=len(record.plan.order),
    )


def _step(
    position: int,
    steps: Mapping[Operator, ChainStep],
    record: ChainRecord,
    units: Mapping[str, UnitView],
    transcripts: TranscriptSet,
) -> StepView:
    name = record.plan.order[position]
    unit = units.get(name)
    tasks = record.plan.window.tasks
    return StepView(
        position=position + 1,
        anchor=unit.anchor if unit else None,
        name=shorten(unit.label if unit else escape_text(name), NAME_CHARACTERS),
        cells=tuple(_cell(steps.get(operator), tasks, transcripts) for operator in record.plan.operators),
    )


def _cell(step: ChainStep | None, tasks: Sequence[str], transcripts: TranscriptSet) -> CellView:
    if step is None:
        return CellView(score=None, marks="")
    anchors = ((task, transcripts.anchor(step.tree, task)) for task in tasks)
    links = tuple((escape_text(task), anchor) for task, anchor in anchors if anchor)
    return CellView(score=mean(step.scores), marks=score_marks(step.scores), links=links)
