"""Rollouts to read: which ones the page carries, chosen so that the telling ones come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.rollout import Rollout
from skillsv.report.marginals import Marginal, moments
from skillsv.report.visible import clip, visible

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
class Shelf:
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


def shelf(rollouts: Sequence[Rollout], wanted: Iterable[Place], limit: int) -> Shelf:
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
    return Shelf(kept=kept, available=len(known), limit=limit)


def _transcript(rollout: Rollout, number: int) -> Transcript:
    failure = f"{rollout.failure.kind}: {rollout.failure.message}" if rollout.failure else ""
    return Transcript(
        anchor=f"rollout-{number}",
        task=visible(rollout.task_id),
        tree=rollout.key.tree,
        score=rollout.score,
        failure=visible(clip(failure, 400)),
        text=clip(visible(rollout.transcript or rollout.answer), _LONGEST),
    )
