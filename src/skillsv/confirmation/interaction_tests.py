"""Direct tests of pairs of units: remove one, the other and both on the same tasks, and compare the losses.

`skillsv.decide.interactions` finds the pairs that are worth a test.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from skillsv.confirmation.gate import bounded_interval
from skillsv.confirmation.scoring import Floats
from skillsv.errors import RecordsError
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval

_USUAL_LIMIT = 1.0
"""The largest interaction on one task, unless a larger one is observed (units that undo each other: up to 2)."""


class Relation(StrEnum):
    """How two units act together."""

    REDUNDANT = "redundant"
    COMPLEMENTARY = "complementary"
    INDEPENDENT = "independent"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPair:
    """What is lost without one unit, the other and both. `interaction`: loss of both minus the losses of each."""

    first: str
    second: str
    without_first: Interval
    without_second: Interval
    without_both: Interval
    interaction: Interval
    relation: Relation
    tasks: int


def pair_coalitions(compiled: CompiledSkill, one: str, other: str) -> tuple[Coalition, Coalition, Coalition, Coalition]:
    """The whole skill, without one unit, without the other, without both, each removed with all that needs it."""
    first, second = (compiled.reverse_closure(frozenset({unit})) for unit in (one, other))
    if other in first or one in second:
        raise RecordsError(
            f"{one} and {other} need each other: removing one removes both.",
            hint="Choose units that can be removed separately.",
        )
    everything = compiled.everything
    return everything, everything - first, everything - second, everything - first - second


def pairs_policy(
    coalitions: Sequence[Coalition], tasks: Sequence[str], *, replicates: int = 1
) -> Generator[tuple[Request, ...], RequestScores, dict[Coalition, Floats]]:
    """Score every coalition on every task: means over replicates, NaN where a score is missing."""
    distinct = tuple(dict.fromkeys(coalitions))
    answers = yield tuple(
        _request(coalition, task, replicate)
        for coalition in distinct
        for task in tasks
        for replicate in range(replicates)
    )
    scores = {}
    for coalition in distinct:
        rows = [[answers[_request(coalition, task, number)] for number in range(replicates)] for task in tasks]
        scores[coalition] = np.array(rows, dtype=np.float64).mean(axis=1)  # None becomes NaN
    return scores


def _request(coalition: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=replicate, why="pairs")


def classify_pair(
    compiled: CompiledSkill,
    pair: tuple[str, str],
    scores: Mapping[Coalition, Floats],
    *,
    level: float,
    resolution: float,
    rng: np.random.Generator,
) -> TestedPair:
    """Compare the loss of both units with the sum of the losses of each, on the tasks that have all scores.

    A larger loss of both means redundant, a smaller one complementary; where the interval allows neither conclusion the
    relation is unresolved.
    """
    rows = np.stack([scores[coalition] for coalition in pair_coalitions(compiled, *pair)])
    full, first, second, both = rows[:, ~np.isnan(rows).any(axis=0)]
    if not len(full):
        raise RecordsError(
            f"no task was scored with and without {pair[0]} and {pair[1]}.", hint="Run the same command again."
        )
    losses = {"without_first": full - first, "without_second": full - second, "without_both": full - both}
    interaction = _interval(losses["without_both"] - losses["without_first"] - losses["without_second"], level, rng)
    return TestedPair(
        first=pair[0],
        second=pair[1],
        interaction=interaction,
        relation=_relation(interaction, resolution),
        tasks=len(full),
        **{name: _interval(values, level, rng) for name, values in losses.items()},
    )


def _interval(values: Floats, level: float, rng: np.random.Generator) -> Interval:
    limit = max(_USUAL_LIMIT, float(np.abs(values).max()))
    return Interval(float(values.mean()), *bounded_interval(values, level, rng, bounds=(-limit, limit)))


def _relation(interaction: Interval, resolution: float) -> Relation:
    if interaction.low > 0:
        return Relation.REDUNDANT
    if interaction.high < 0:
        return Relation.COMPLEMENTARY
    negligible = -resolution <= interaction.low and interaction.high <= resolution
    return Relation.INDEPENDENT if negligible else Relation.UNRESOLVED
