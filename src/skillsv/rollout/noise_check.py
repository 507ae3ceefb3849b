"""Is the agent deterministic? Repeats of rollouts, and what they say about noise that they may have missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from skillsv.model.coalition import Coalition, Observation, Operator
from skillsv.model.format import plural
from skillsv.model.rollout import Request
from skillsv.rollout.chain_policy import Policy

MISSED = 0.05
"""Probability that no repeat differs although the agent is as noisy as the sentence about it says."""

LEAST_ODDS = 2
"""Repeats that cannot rule out that every second score changes are too few to say anything."""

RepeatedRollout = tuple[Coalition, Operator, str]
"""Coalition, operator and task of a rollout that was run more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What repeats showed: for each repeated rollout whether one of its repeats gave another score."""

    repeated: Mapping[RepeatedRollout, bool] = field(default_factory=dict)

    @property
    def compared(self) -> int:
        """The number of rollouts that were repeated."""
        return len(self.repeated)

    @property
    def differing(self) -> int:
        """The number of repeated rollouts that gave another score."""
        return sum(self.repeated.values())

    @property
    def deterministic(self) -> bool:
        """Whether no repeat differed; also True if nothing could be compared."""
        return self.differing == 0

    def join(self, other: Noise) -> Noise:
        """The repeats of both."""
        both = {key: differs or self.repeated.get(key, False) for key, differs in other.repeated.items()}
        return Noise(repeated={**self.repeated, **both})

    def finding(self) -> str:
        """What was repeated and what came out, in one or two sentences."""
        if not self.compared:
            return "No rollout was repeated, so it is not known whether the agent is deterministic."
        where = f"{plural(self.compared, 'rollout')} {self._spread()}"
        if not self.deterministic:
            changed = "1 score" if self.differing == 1 else f"{self.differing} scores"
            return f"{where} {_were(self.compared)} repeated, and {changed} changed."
        return f"{where} {_were(self.compared)} repeated, and no score changed. {self._missed()}"

    def _spread(self) -> str:
        tasks = len({task for _, _, task in self.repeated})
        sizes = len({len(coalition) for coalition, _, _ in self.repeated})
        return f"on {plural(tasks, 'task')} with partial skills of {plural(sizes, 'size')}"

    def _missed(self) -> str:
        """The noise that so many equal repeats cannot rule out: a rate r with (1 - r)^n = 0.05, about 3 / n."""
        odds = int(1.0 / (1.0 - MISSED ** (1.0 / self.compared)))
        if odds < LEAST_ODDS:
            return "That is too few to rule out noise."
        return f"Noise that changes fewer than 1 in {odds} scores may be missed (95% confidence)."


def check_noise(requests: Sequence[Request], *, rollouts: int = 2) -> Policy[Noise]:
    """Run each of these requests `rollouts` times, with its own and the following replicate numbers, and compare."""
    groups = [
        tuple(replace(request, replicate=request.replicate + more, why="check:noise") for more in range(rollouts))
        for request in dict.fromkeys(requests)
    ]
    answers = (yield tuple(request for group in groups for request in group)) if groups else {}
    repeated = {}
    for group in groups:
        scores = [score for score in map(answers.__getitem__, group) if score is not None]
        if len(scores) > 1:
            repeated[group[0].coalition, group[0].operator, group[0].task] = len(set(scores)) > 1
    return Noise(repeated=repeated)


def noise_among(observations: Iterable[Observation]) -> Noise:
    """The repeats of an adaptive run, up to the moment when the agent was called noisy."""
    scores: dict[RepeatedRollout, list[float]] = {}
    for observation in takewhile(lambda item: not item.agent_is_noisy, observations):
        if observation.score is not None:
            place = observation.coalition, observation.operator, observation.task
            scores.setdefault(place, []).append(observation.score)
    return Noise(repeated={place: len(set(known)) > 1 for place, known in scores.items() if len(known) > 1})


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
