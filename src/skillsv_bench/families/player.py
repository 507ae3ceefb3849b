"""Answers requests as the agent of a family game does, in process."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from hashlib import blake2b

import numpy as np

from skillsv.model.coalition import Coalition
from skillsv.model.rollout import Request, RequestScores
from skillsv_bench.families.game import FamilyGame
from skillsv_bench.families.noise import FamilyNoise, passing_chances, thresholds
from skillsv_bench.planted.game import Floats

_STREAM = 23
"""Random stream of the answers, apart from that of the game."""


class FamilyPlayer:
    """The agent of a family game. A noisy one draws anew for each request; a brittle one draws once for each prompt."""

    def __init__(self, game: FamilyGame, noise: FamilyNoise, seed: int) -> None:
        self._game, self._noise, self._seed = game, noise, seed
        self._number = {task.id: place for place, task in enumerate(game.tasks)}
        self._temperature, self._lapse = noise.of_tasks(len(game.tasks))
        self._rng = np.random.default_rng([seed, _STREAM])
        self._draws = int(game.levels.max()) + 1

    def answer(self, requests: Sequence[Request]) -> RequestScores:
        """Scores of all requests."""
        tasks = [self._number[request.task] for request in requests]
        scores = self.score([request.coalition for request in requests], tasks, [_prompt(one) for one in requests])
        return dict(zip(requests, scores.tolist(), strict=True))

    def score(self, coalitions: Sequence[Coalition], tasks: Sequence[int], prompts: Sequence[Hashable]) -> Floats:
        """Scores of coalitions on tasks (numbers). `prompts` tell apart what the agent reads: see `brittle`."""
        rows = np.arange(len(tasks))
        logits = self._game.logits(self._game.column_mask(coalitions))[rows, list(tasks)]
        if self._noise.brittle:
            keys = zip(coalitions, tasks, prompts, strict=True)
            draws = np.array([self._draw_for(*key) for key in keys]).reshape(len(tasks), self._draws)
        else:
            draws = self._rng.random((len(tasks), self._draws))
        return np.array([self._one(*row) for row in zip(logits.tolist(), tasks, draws, strict=True)])

    def _one(self, logit: float, task: int, draws: Floats) -> float:
        steps = thresholds(int(self._game.levels[task]))
        chances = passing_chances(logit - steps, np.full(len(steps), self._temperature[task]))
        score = float((draws[: len(steps)] < chances).mean())
        return 1.0 - score if draws[-1] < self._lapse[task] else score

    def _draw_for(self, coalition: Coalition, task: int, prompt: Hashable) -> Floats:
        """The draws of a prompt, the same whenever it is asked."""
        text = repr((self._seed, sorted(coalition), task, prompt))
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        return np.random.default_rng(seed).random(self._draws)


def _prompt(request: Request) -> Hashable:
    """What tells the prompt apart from another one with the same units: the operator, and a null change if any."""
    return str(request.operator), getattr(request, "null_change", 0)
