"""Whether the content of a skill makes a difference to the agent: exact tests of the first batch. Pure.

Each task of the first batch has three scores: {m}, the full skill, and the full skill under a null change. To an agent
that ignores the skill the three are alike, so each of them could be the one of {m}. The first look compares the scores
with all such exchanges. Where it is not clear, {m} and the full skill are asked again, under further null changes, on
tasks where the first scores differed. Fresh scores owe nothing to this choice: to an agent that ignores the skill the
two are still alike.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from skillsv.confirmation.paired_proof import Pair
from skillsv.confirmation.scoring import Floats
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Request, RequestScores
from skillsv.pipeline.shrink_plan import FirstBatch

RISE_LEVEL = 0.025
"""Error rate of the first look, where the content raises the mean score."""

ODD_LEVEL = 0.02
"""Error rate of the first look, where the scores of {m} stand apart on single tasks, in either direction."""

SIGNED_LEVEL = 0.04
"""Error rate of the second look, where tasks change again in the direction of their first change."""

BOTH_LEVEL = 0.03
"""Error rate of the second look, where both looks together raise the mean score."""

MOST_PAIRS = 45
"""Pairs of the second look at most: as many rollouts as the first batch has."""

PAIRS_OF_TASK = 6
"""Pairs of the second look on one task at most: six equal signs show an effect that a single task has."""

SECOND_SHARE = 0.15
"""Share of the budget that the second look may take."""

FIRST_CHANGE = 40
"""The first null change of the second look: values and proofs ask the lower numbers, and need fresh scores."""

EXCHANGES = 4_000
"""Random exchanges of a test: a level of 4 % is known within .3 %."""

TEST_STREAM = 23
"""Seed of the random exchanges: the same scores always have the same result."""

REASON = "shrink:content"
"""The reason of all requests of the second look."""

TINY = 1e-9
"""Differences of sums of scores up to this are due to rounding."""


class ContentEffect(StrEnum):
    """What is shown of the effect that the content of a skill has."""

    SHOWN = "shown"
    UNCLEAR = "unclear"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentPair:
    """Scores of {m} and of the full skill on the same task, under the same number of a null change."""

    task: str
    trigger: float | None
    full: float | None


def first_look(batch: FirstBatch) -> ContentEffect:
    """What the first batch alone shows. Without any task nothing is known, and nothing is decided."""
    if not batch.full:
        return ContentEffect.SHOWN
    scores = _scores(batch)
    if not (scores[:, 1] - scores[:, 0]).any():
        return ContentEffect.NONE
    rise, odd = _exchange_chances(scores)
    return ContentEffect.SHOWN if rise <= RISE_LEVEL or odd <= ODD_LEVEL else ContentEffect.UNCLEAR


def second_look(batch: FirstBatch, pairs: Sequence[ContentPair]) -> ContentEffect:
    """What the first batch and fresh pairs show together."""
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

    scores = _scores(batch)
    direction = dict(zip(batch.tasks, np.sign(_differences(scores)).tolist(), strict=True))
    known = [
        (direction[pair.task], pair.full - pair.trigger)
        for pair in pairs
        if pair.full is not None and pair.trigger is not None
    ]
    changes = np.array([change for _, change in known])
    if _sign_chance(np.array([sign * change for sign, change in known])) <= SIGNED_LEVEL:
        return ContentEffect.SHOWN
    rise, _ = _exchange_chances(scores)
    chances = np.minimum([rise, _sign_chance(changes)], 1 - TINY)
    both = 1 - float(ndtr(ndtri(1 - chances).sum() / math.sqrt(2)))  # Stouffer's sum of normal quantiles
    return ContentEffect.SHOWN if both <= BOTH_LEVEL else ContentEffect.NONE


def pairs_to_ask(batch: FirstBatch, rollouts: int, left: int | None = None) -> list[Pair]:
    """The pairs of the second look where the whole shrink has so many rollouts, the largest differences first.

    `left` are the rollouts that are left of them; None is enough for all pairs.
    """
    differences = np.abs(_differences(_scores(batch)))
    order = [place for place in np.argsort(-differences, kind="stable").tolist() if differences[place] > TINY]
    share = int(SECOND_SHARE * rollouts)
    most = min(MOST_PAIRS, min(share, share if left is None else left) // 2, PAIRS_OF_TASK * len(order))
    return [(batch.tasks[order[number % len(order)]], FIRST_CHANGE + number // len(order)) for number in range(most)]


def ask_pairs(
    trigger: Coalition, full: Coalition, pairs: Sequence[Pair]
) -> Generator[tuple[Request, ...], RequestScores, list[ContentPair]]:
    """Request both versions of each pair, and return their scores."""
    wanted = [(_request(trigger, pair), _request(full, pair)) for pair in pairs]
    answers = yield tuple(request for both in wanted for request in both)
    return [
        ContentPair(task=task, trigger=answers[first], full=answers[second])
        for (task, _), (first, second) in zip(pairs, wanted, strict=True)
    ]


def _request(coalition: Coalition, pair: Pair) -> Request:
    task, change = pair
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, why=REASON, null_change=change)


def _scores(batch: FirstBatch) -> Floats:
    """The scores [tasks, 3] of {m}, of the full skill, and of the full skill under a null change."""
    return np.array([batch.trigger, batch.full, batch.changed]).T


def _differences(scores: Floats) -> Floats:
    """What the content changes on each task: the full skill, on the mean of its two scores, minus {m}."""
    changes: Floats = scores[:, 1:].mean(axis=1) - scores[:, 0]
    return changes


def _exchange_chances(scores: Floats) -> tuple[float, float]:
    """The chances that exchanged scores rise as much in the mean, and that those of {m} stand apart as much."""
    first, second = np.roll(scores, -1, axis=1), np.roll(scores, -2, axis=1)
    rise = (first + second) / 2 - scores
    odd = np.abs(scores - first) + np.abs(scores - second) - 2 * np.abs(first - second)
    rng = np.random.default_rng(TEST_STREAM)
    rows, columns = np.arange(len(scores)), rng.integers(3, size=(EXCHANGES, len(scores)))
    return _chance(rise[rows, columns], rise[:, 0]), _chance(odd[rows, columns], odd[:, 0])


def _sign_chance(changes: Floats) -> float:
    """The chance that the changes with random signs have as large a sum."""
    if not changes.any():
        return 1.0
    rng = np.random.default_rng(TEST_STREAM)
    return _chance(rng.choice([-1.0, 1.0], size=(EXCHANGES, len(changes))) * changes, changes)


def _chance(exchanged: Floats, seen: Floats) -> float:
    """The share of rows of exchanged amounts whose sum is at least the one that was seen, itself included."""
    return float(((exchanged.sum(axis=1) >= seen.sum() - TINY).sum() + 1) / (EXCHANGES + 1))
