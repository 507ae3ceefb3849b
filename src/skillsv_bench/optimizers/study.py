"""Growth games played by an optimizer alone and with pruning, at the same total of metric calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module

import numpy as np

import skillsv as sv
from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import GrowthGame, count_lines
from skillsv_bench.optimizers.play import Grown, Play

OPTIMIZERS = ("gepa", "dspy", "textgrad", "skillopt")
"""The optimizers, by the name of their package."""

HELD_OUT = 240
"""Examples that no optimizer sees, which compare the results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One game played by one optimizer: the result's score on held-out examples, its length and its useless lines."""

    optimizer: str
    seed: int
    pruned: bool
    score: float
    tokens: int
    helpful: int
    useless: int
    calls: int
    pruning: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An optimizer with pruning against itself alone, over paired games; `_se` are standard errors over games."""

    optimizer: str
    games: int
    score_alone: float
    score_change: float
    score_change_se: float
    tokens_alone: float
    token_ratio: float
    token_ratio_se: float
    useless_alone: float
    useless_ratio: float
    useless_ratio_se: float
    calls: float
    pruning: float


def play_games(
    names: Sequence[str],
    games: Sequence[GrowthGame],
    budget: int,
    policy: PrunePolicy,
    *,
    tell: Callable[[str], None],
) -> Iterator[Played]:
    """Play every game twice with each optimizer, with and without pruning."""
    for name in names:
        play = find_play(name)
        for game in games:
            for chosen in (None, replace(policy, total=budget)):
                played = _measure(name, game, play(game, budget, chosen), pruned=chosen is not None)
                tell(f"{name}, game {game.seed}, {'pruned' if played.pruned else 'alone'}: score {played.score:.3f}")
                yield played


def find_play(name: str) -> Play:
    """The function that plays a game with this optimizer. Raises SettingsError where its package is missing."""
    try:
        module = import_module(f"skillsv_bench.optimizers.play_{name}")
    except ModuleNotFoundError as error:
        raise sv.errors.SettingsError(
            f"the package {error.name} is not installed.", hint=f"Run pip install 'skillsv[{name}]'."
        ) from error
    play: Play = getattr(module, f"grow_with_{name}")
    return play


def compare(played: Sequence[Played]) -> list[Comparison]:
    """Pair the games of each optimizer and average."""
    rows = []
    for name in dict.fromkeys(each.optimizer for each in played):
        alone = [each for each in played if each.optimizer == name and not each.pruned]
        pruned = [each for each in played if each.optimizer == name and each.pruned]
        change = _mean([after.score - before.score for before, after in zip(alone, pruned, strict=True)])
        tokens = _mean([after.tokens / before.tokens for before, after in zip(alone, pruned, strict=True)])
        useless = _mean([after.useless / max(before.useless, 1) for before, after in zip(alone, pruned, strict=True)])
        rows.append(
            Comparison(
                optimizer=name,
                games=len(alone),
                score_alone=_mean([each.score for each in alone])[0],
                score_change=change[0],
                score_change_se=change[1],
                tokens_alone=_mean([each.tokens for each in alone])[0],
                token_ratio=tokens[0],
                token_ratio_se=tokens[1],
                useless_alone=_mean([each.useless for each in alone])[0],
                useless_ratio=useless[0],
                useless_ratio_se=useless[1],
                calls=_mean([each.calls for each in pruned])[0],
                pruning=_mean([each.pruning for each in pruned])[0],
            )
        )
    return rows


def as_dict(rows: Sequence[Comparison], played: Sequence[Played]) -> dict[str, object]:
    """The result as plain data."""
    return {"comparisons": [asdict(row) for row in rows], "games": [asdict(each) for each in played]}


def _measure(name: str, game: GrowthGame, grown: Grown, *, pruned: bool) -> Played:
    """Count the lines of a result, and score it without noise on examples that the optimizer has not seen."""
    judge = GrowthGame(seed=game.seed, topics=game.topics, easy=game.easy)
    held_out = judge.examples("held-out", HELD_OUT)
    lines = count_lines(grown.text)
    return Played(
        optimizer=name,
        seed=game.seed,
        pruned=pruned,
        score=sum(judge.score(grown.text, example) for example in held_out) / HELD_OUT,
        tokens=sv.compile(grown.text).count_tokens(),
        helpful=lines.helpful,
        useless=lines.useless,
        calls=grown.calls,
        pruning=grown.pruning,
    )


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    array = np.asarray(values, dtype=np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else math.nan
    return float(array.mean()), error
