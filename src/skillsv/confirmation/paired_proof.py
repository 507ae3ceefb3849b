"""A proof in pairs: old and new skill on the same task, at a fixed size, with one look on the way.

The look can only end a proof that has hardly a chance left: the rollouts that this saves go to the next set. It never
ends a proof as a success, so it does not raise the chance of a wrong one.

Held-out tasks speak for tasks like these. On the same tasks that chose the set the claim is about these tasks alone:
only the noise of the agent counts, and tasks with more noise get more pairs (Neyman). Several pairs on one task differ
by null changes of both versions, because the same prompt asked again says nothing where an agent repeats itself.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skillsv.confirmation.gate import Gate, interval, lower_bound, smallest_drop
from skillsv.confirmation.scoring import Floats
from skillsv.errors import Unavailable
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.edit import Confirmation
from skillsv.model.rollout import Request, RequestScores

Pair = tuple[str, int]
"""A task, and the number of the null change under which both versions run on it."""

REASON = "shrink:proof"
"""The reason of all requests of a proof."""

FRESH = 2
"""The first null change on tasks that were used before: 0 and 1 were asked there already."""

ANY_NOISE = 0.05
"""Added to the deviation of a task's scores where pairs are shared out, so that every task gets some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """When a proof is looked at, as a share of its pairs, and the chance of success below which it ends there."""

    share: float = 0.5
    least_chance: float = 0.03


HALFWAY = Look()
"""The usual look: half of the pairs, and only a proof without hope ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a proof speaks about: all tasks like these, or, with `same_tasks`, only the tasks that were asked."""

    gate: Gate
    same_tasks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """Scores of old and new, pair by pair. NaN where one is missing."""

    pairs: tuple[Pair, ...]
    old: Floats
    new: Floats

    def by_task(self) -> Mapping[str, tuple[Floats, Floats]]:
        """The scores of old and new of each task with at least one complete pair."""
        found: dict[str, list[tuple[float, float]]] = {}
        for (task, _), old, new in zip(self.pairs, self.old.tolist(), self.new.tolist(), strict=True):
            if not math.isnan(old - new):
                found.setdefault(task, []).append((old, new))
        if not found:
            raise Unavailable("no task of the proof has a score of both versions.", hint="Run the same command again.")
        return {task: (np.array(rows)[:, 0], np.array(rows)[:, 1]) for task, rows in found.items()}


@dataclass(slots=True, kw_only=True)
class PairedProof:
    """The pairs of a proof in order, and the scores of the old skill, which all new versions are compared with."""

    old: Coalition
    pairs: Sequence[Pair]
    scores: dict[tuple[Coalition, Pair], float | None] = field(default_factory=dict)

    def run(
        self, new: Coalition, rollouts: int, claim: Claim, rng: np.random.Generator, look: Look = HALFWAY
    ) -> ProofRun:
        """Request pairs of old and new until so many rollouts are used; give up at the look where there is no hope."""
        allowed = self.affordable(new, rollouts)
        some = math.ceil(look.share * allowed)
        yield from self._ask(new, some)
        scores = self.read(new, some)
        if some < allowed and success_chance(scores, allowed, claim) >= look.least_chance:
            yield from self._ask(new, allowed)
            scores = self.read(new, allowed)
        return ProofResult.of(scores, claim, rng)

    def untouched(self) -> PairedProof:
        """A proof on the pairs whose tasks were not asked yet."""
        asked = self.asked_tasks()
        return PairedProof(old=self.old, pairs=[pair for pair in self.pairs if pair[0] not in asked])

    def asked_tasks(self) -> frozenset[str]:
        """The tasks that were asked."""
        return frozenset(task for _, (task, _) in self.scores)

    def affordable(self, new: Coalition, rollouts: int) -> int:
        """The pairs from the first on that so many rollouts pay for; scores that are there cost nothing."""
        for number, pair in enumerate(self.pairs):
            rollouts -= sum((version, pair) not in self.scores for version in (self.old, new))
            if rollouts < 0:
                return number
        return len(self.pairs)

    def used(self) -> int:
        """The rollouts that were asked for."""
        return len(self.scores)

    def unasked(self, new: Coalition, count: int) -> dict[tuple[Coalition, Pair], Request]:
        """The requests for the first pairs that have no answer yet."""
        return {
            (version, pair): _request(version, pair)
            for pair in self.pairs[:count]
            for version in (self.old, new)
            if (version, pair) not in self.scores
        }

    def _ask(self, new: Coalition, count: int) -> Generator[tuple[Request, ...], RequestScores, None]:
        wanted = self.unasked(new, count)
        if wanted:
            answers = yield tuple(wanted.values())
            self.scores.update((place, answers[request]) for place, request in wanted.items())

    def complete(self, new: Coalition, count: int) -> int:
        """The number of the first pairs that have a score of both versions."""
        scores = self.read(new, count)
        return int(np.isfinite(scores.old - scores.new).sum())

    def read(self, new: Coalition, count: int) -> PairScores:
        """The scores of the first pairs. What was not asked is missing."""
        pairs = tuple(self.pairs[:count])
        old, new_scores = (
            np.array([np.nan if (score := self.scores.get((version, pair))) is None else score for pair in pairs])
            for version in (self.old, new)
        )
        return PairScores(pairs=pairs, old=old, new=new_scores)


def _request(version: Coalition, pair: Pair) -> Request:
    task, change = pair
    return Request(coalition=version, operator=Operator.DELETE, task=task, why=REASON, null_change=change)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofResult:
    """What the pairs show. `lost` and `gained` are the tasks whose mean score fell or rose.

    `variance` is that of the mean change times the number of pairs.
    """

    confirmation: Confirmation
    claim: Claim
    pairs: int
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    variance: float = 0.0

    @classmethod
    def of(cls, scores: PairScores, claim: Claim, rng: np.random.Generator) -> ProofResult:
        """Compare the scores. Tokens are filled in by the caller."""
        by_task = scores.by_task()
        old = np.array([rows[0].mean() for rows in by_task.values()])
        new = np.array([rows[1].mean() for rows in by_task.values()])
        level, changes = claim.gate.level, new - old
        pairs = sum(len(rows[0]) for rows in by_task.values())
        bound = same_tasks_bound(by_task, level) if claim.same_tasks else lower_bound(changes, level, rng)
        return cls(
            confirmation=Confirmation(
                tasks=len(by_task),
                old=interval(old, level, rng),
                new=interval(new, level, rng),
                delta=interval(changes, level, rng),
                tokens_old=0,
                tokens_new=0,
                at_worst=bound,
                max_drop=claim.gate.max_drop,
            ),
            claim=claim,
            pairs=pairs,
            variance=float(changes.var()) * pairs / len(changes),
            lost=tuple(task for task, change in zip(by_task, changes.tolist(), strict=True) if change < 0),
            gained=tuple(task for task, change in zip(by_task, changes.tolist(), strict=True) if change > 0),
        )


ProofRun = Generator[tuple[Request, ...], RequestScores, ProofResult]


def success_chance(scores: PairScores, pairs: int, claim: Claim) -> float:
    """The chance that the proof succeeds at its full size, if the rest is like the pairs so far.

    The mean of the rest is uncertain by what was seen and by what is to come. Without a loss nothing speaks against it.
    """
    from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

    by_task = scores.by_task()
    changes = np.array([rows[1].mean() - rows[0].mean() for rows in by_task.values()])
    if not (changes < 0).any():
        return 1.0
    seen, rest = len(scores.pairs), max(pairs - len(scores.pairs), 1)
    variance = max(float(changes.var()), 1.0 / len(changes))  # never too sure of a loss
    margin = smallest_drop(pairs, claim.gate.level) / 3 + float(ndtri(claim.gate.level)) * math.sqrt(variance / pairs)
    missing = (margin - claim.gate.max_drop - float(changes.mean())) * pairs / rest
    return float(ndtr(-missing / math.sqrt(variance / rest + variance / seen)))


def same_tasks_bound(by_task: Mapping[str, tuple[Floats, Floats]], level: float) -> float:
    """The lower bound of the mean change on exactly these tasks: only the noise within a task counts.

    As in `gate.lower_bound` one imaginary pair loses everything. A task with a single pair has the variance of the
    other tasks.
    """
    from scipy.special import stdtrit

    changes = [rows[1] - rows[0] for rows in by_task.values()]
    sizes = np.array([len(change) for change in changes], dtype=np.float64)
    repeated = sizes > 1
    if not repeated.any():
        return -1.0
    variances = np.array([change.var(ddof=1) if len(change) > 1 else np.nan for change in changes])
    variances[~repeated] = variances[repeated].mean()
    shares = variances / sizes / len(changes) ** 2
    pairs = float(sizes.sum())
    freedom = shares.sum() ** 2 / max(float((shares**2 / np.maximum(sizes - 1, 1)).sum()), 1e-300)
    quantile = float(stdtrit(max(freedom, 1.0), level)) if shares.sum() else 0.0
    spread = math.sqrt(float(shares.sum()) + pairs**-2)
    mean = float(np.mean([change.mean() for change in changes]))
    return max(mean - 1.0 / pairs - max(quantile, 2.0 if not shares.sum() else 0.0) * spread, -1.0)


def pairs_in_turn(tasks: Sequence[str], pairs: int) -> list[Pair]:
    """Pairs on held-out tasks: each task once, then each a second time under a null change, and so on."""
    return [(tasks[number % len(tasks)], number // len(tasks)) for number in range(pairs)] if tasks else []


def pairs_by_noise(deviations: Mapping[str, float], pairs: int) -> list[Pair]:
    """Pairs on the same tasks: at least two on each, the rest where scores vary most; in rounds over all tasks."""
    wanted = {task: deviation + ANY_NOISE for task, deviation in deviations.items()}
    counts = dict.fromkeys(wanted, min(2, pairs // max(len(wanted), 1)))
    for _ in range(pairs - sum(counts.values())):
        neediest = max(wanted, key=lambda task: wanted[task] / (counts[task] + 0.5))
        counts[neediest] += 1
    placed = [
        ((place + 0.5) / counts[task], number, (task, FRESH + place))
        for number, task in enumerate(counts)
        for place in range(counts[task])
    ]
    return [pair for _, _, pair in sorted(placed)]
