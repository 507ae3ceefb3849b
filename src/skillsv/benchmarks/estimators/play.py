"""Play an adaptive run of a planted game in memory: the real policy, answered by the game's own rules and chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skillsv.benchmarks.planted.game import Noise, PlantedGame
from skillsv.model.coalition import Operator
from skillsv.model.rollout import Answers, Request
from skillsv.order import Sampler
from skillsv.rollout.adaptive import AdaptiveOptions, AdaptiveProblem, AdaptiveRecord, adaptive_walk


class Player:
    """Answers requests as the planted agent would, fresh luck for each.

    `noise_from` lets noise begin only after so many answers. `crowding` is what padding costs on the logit scale where
    it stands for all units: with less padding proportionally less, with the full skill nothing.
    """

    def __init__(
        self, game: PlantedGame, noise: Noise, seed: int, *, noise_from: int = 0, crowding: float = 0.0
    ) -> None:
        features = game.features
        bits = {unit: 1 << place for place, unit in enumerate(game.compiled.execution)}
        self._bits = {**bits, game.compiled.trigger: 0}
        self._number = {task.id: place for place, task in enumerate(game.tasks)}
        groups = [sum(1 << place for place in group) for group in features.groups]
        used = [np.flatnonzero(features.weights[:, task]).tolist() for task in range(len(game.tasks))]
        self._parts = [
            [(groups[part], bool(features.every[part]), float(features.weights[part, task])) for part in parts]
            for task, parts in enumerate(used)
        ]
        self._base, self._bare = features.base.tolist(), features.bare.tolist()
        self._noise, self._noise_from, self._answered = noise, noise_from, 0
        self._crowding = crowding
        self._rng = np.random.default_rng([seed, 11])

    def answer(self, requests: Sequence[Request]) -> Answers:
        """Scores of all requests."""
        logits = np.array([self._logit(request) for request in requests])
        luck = self._rng.random(len(requests))
        self._answered += len(requests)
        noise = self._noise if self._answered > self._noise_from else Noise()
        scores = (luck < noise.chances(logits)).astype(np.float64).tolist()
        return dict(zip(requests, scores, strict=True))

    def _logit(self, request: Request) -> float:
        task = self._number[request.task]
        if not request.coalition:
            return float(self._bare[task])
        mask = sum(map(self._bits.__getitem__, request.coalition))
        total = float(self._base[task])
        for group, every, weight in self._parts[task]:
            if mask & group == group if every else mask & group:
                total += weight
        if request.operator is Operator.PAD:
            total -= self._crowding * (1.0 - len(request.coalition) / len(self._bits))
        return total


def problem_of(game: PlantedGame, operators: tuple[Operator, ...] = (Operator.DELETE,)) -> AdaptiveProblem:
    """The planted game as the adaptive policy sees it."""
    return AdaptiveProblem(
        units=game.compiled.execution,
        trigger=game.compiled.trigger,
        needs=game.compiled.needs,
        tasks=tuple(task.id for task in game.tasks),
        sample_order=Sampler(game.compiled).sample,
        operators=operators,
    )


def play_adaptive(problem: AdaptiveProblem, player: Player, options: AdaptiveOptions, seed: int) -> AdaptiveRecord:
    """Run the policy to its end."""
    walk = adaptive_walk(problem, options, seed)
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(player.answer(wanted))
    except StopIteration as done:
        record: AdaptiveRecord = done.value
        return record
