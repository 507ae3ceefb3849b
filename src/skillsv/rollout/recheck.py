"""Repeats stored rollouts before a run, and decides whether the stored scores are still those of the agent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from skillsv.errors import GateNotMet
from skillsv.model.format import plural
from skillsv.model.rollout import RECHECK, Request
from skillsv.rollout.chain_policy import Policy

LEVEL = 0.05
"""Probability of refusing the stored scores of an agent that has not changed."""

NOISE_REPEATS = 4
"""Further repeats of each rollout where one differs: they measure the noise of the agent as it is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckResult:
    """How many repeated scores differ from the stored one, and how many of the agent's own repeats differ.

    The stored scores are refused where the first share is larger than the second by Fisher's exact test, one-sided, at
    5%. An agent that never differs from itself is refused with 2 of 5 differing scores. One of 5 may be noise.
    """

    compared: int
    differing: int
    noise_compared: int = 0
    noise_differing: int = 0

    @property
    def probability(self) -> float:
        """The probability of so many differing scores, or more, if stored and new scores come from one agent."""
        total, marked = self.compared + self.noise_compared, self.differing + self.noise_differing
        ways = sum(
            math.comb(marked, number) * math.comb(total - marked, self.compared - number)
            for number in range(self.differing, min(marked, self.compared) + 1)
        )
        return ways / math.comb(total, self.compared)

    @property
    def refused(self) -> bool:
        """Whether the stored scores differ by more than noise allows."""
        return self.differing > 0 and self.probability <= LEVEL

    def sentence(self) -> str:
        """What was repeated and what came out."""
        if not self.compared:
            return "No stored rollout could be repeated, so nothing was rechecked."
        start = f"{plural(self.compared, 'stored rollout')} repeated"
        if not self.differing:
            return f"{start}: no score differs."
        return (
            f"{start}: {self.differing} of {self.compared} scores are other ones; of the agent's own repeats "
            f"{self.noise_differing} of {self.noise_compared} are (p = {self.probability:.2g})."
        )

    def require_same(self) -> None:
        """Raise GateNotMet where the stored scores are refused."""
        if self.refused:
            raise GateNotMet(
                f"the stored rollouts are not those of this agent any more. {self.sentence()}",
                hint="Nothing was reused. Start anew with --fresh, or give the agent a version: --agent-version 2.",
            )


def recheck_policy(stored: Mapping[Request, float], session: str) -> Policy[RecheckResult]:
    """Repeat these rollouts once; if a score differs, `NOISE_REPEATS` more times. `session` names the repeats."""

    def repeats(number: int) -> dict[Request, Request]:
        return {request: replace(request, why=f"{RECHECK}{session}:{number}") for request in stored}

    first = repeats(0)
    answers = (yield tuple(first.values())) if first else {}
    scores = {request: answers[repeat] for request, repeat in first.items() if answers[repeat] is not None}
    differing = sum(score != stored[request] for request, score in scores.items())
    result = RecheckResult(compared=len(scores), differing=differing)
    if not differing:
        return result
    rounds = [repeats(number) for number in range(1, NOISE_REPEATS + 1)]
    answers = yield tuple(repeat for later in rounds for repeat in later.values())
    pairs = [(scores[request], answers[later[request]]) for later in rounds for request in scores]
    known = [(score, other) for score, other in pairs if other is not None]
    return replace(result, noise_compared=len(known), noise_differing=sum(score != other for score, other in known))
