"""Pruning areas on planted games: what each method's ranking keeps of the score while units are removed.

Values are estimated on the tasks of the game, as panel A. The curves are scored on other tasks of the same recipe, as
panel B, with the agent's true chances, so the only noise in an area is that of the tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from skillsv.extend.comparison import (
    DRAWS,
    RANDOM_ORDERS,
    Checkpoints,
    PanelScores,
    areas,
    choose_checkpoints,
    closure_loo,
    closure_loo_requests,
    count_loo_tasks,
    holm,
    judge_ranking,
    judge_tasks,
    pooled,
    pooled_samples,
    pruning_path,
    random_ranking,
    read_score,
)
from skillsv.extend.estimators import Renderer, draw_window, estimate_chains
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import PanelA
from skillsv.model.value import Interval, Ranking
from skillsv_bench.planted.game import TARGETS, Floats, Noise, PlantedGame, make_tasks
from skillsv_bench.planted.generate import planted_skill
from skillsv_bench.planted.simulate import (
    SharedNoise,
    answer_requests,
    make_plans,
    play_panel_anchors,
    record_chains,
)
from skillsv_bench.planted.studies import Setting

CHECKPOINTS = 10
"""Checkpoints of a curve between its ends, as in the benchmarks' protocol."""

LEVEL = 0.95
"""Confidence level of the intervals."""

_METHODS = ("skillsv", "closure-loo", "judge (scripted)", "random")
"""The methods, the first one first in every comparison."""

_ADDITIVE = frozenset({"skillsv", "judge (scripted)"})
"""Methods whose values add up over units that are removed together."""

_POINTS_PER_WORD = 3
"""What the scripted judge gives for every word of a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodArea:
    """The area under one method's pruning curves, the mean over games, with its interval."""

    method: str
    area: float
    low: float
    high: float
    games: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaDifference:
    """The area of one method minus that of another, paired by task; `p` by the bootstrap, `p_holm` for all pairs."""

    method: str
    against: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float


GameAreas = Mapping[str, Floats]
"""The area of each method on one game, task by task."""


def study_areas(kind: str, setting: Setting, *, games: Sequence[int]) -> list[GameAreas]:
    """The areas of all methods on the games of these seeds."""
    return [measure_areas(planted_skill(kind, seed), setting, seed) for seed in games]


def measure_areas(game: PlantedGame, setting: Setting, seed: int) -> GameAreas:
    """Rank the units by every method on panel A, and measure the areas under their curves on panel B."""
    rng = np.random.default_rng([seed, 2])
    rankings = rank_units(game, setting, rng)
    other = held_out_game(game, rng)
    renderer = Renderer(game.compiled)
    paths = {
        method: [
            choose_path(renderer, ranking, additive=method in _ADDITIVE, checkpoints=CHECKPOINTS) for ranking in some
        ]
        for method, some in rankings.items()
    }
    scores = score_paths(other, [path for some in paths.values() for path in some], setting.noise)
    return {method: areas(scores, some) for method, some in paths.items()}


def rank_units(game: PlantedGame, setting: Setting, rng: np.random.Generator) -> Mapping[str, Sequence[Ranking]]:
    """One ranking per method, several for chance. Leave-one-out costs as many rollouts as the chains."""
    shared_noise = SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=setting.tolerance)
    records = record_chains(game, plans, noise=setting.noise, shared_noise=shared_noise)
    panel = play_panel_anchors(game, noise=setting.noise, shared_noise=shared_noise)
    estimate = estimate_chains(game.compiled, records, panel=panel)
    spent = sum((3 + len(record.steps)) * len(record.plan.window.tasks) for record in records)
    size = count_loo_tasks(len(game.tasks), len(game.compiled.execution), spent)
    tasks = draw_window(PanelA(tasks=game.tasks), size, rng).tasks
    requests = closure_loo_requests(game.compiled, tasks)
    answers = answer_requests(game, requests, noise=setting.noise, shared_noise=shared_noise)
    values = {unit.id: unit.net_or_zero for unit in estimate.units}
    return dict(
        zip(
            _METHODS,
            (
                [Ranking(method="skillsv", values=values)],
                [closure_loo(game.compiled, tasks, answers)],
                [scripted_judge(game.compiled)],
                [random_ranking(game.compiled, rng) for _ in range(RANDOM_ORDERS)],
            ),
            strict=True,
        )
    )


def scripted_judge(compiled: CompiledSkill) -> Ranking:
    """A judge without a model: it reads the real question about each unit, and prefers long units.

    It stands for a judge that looks at the text alone and knows nothing about the tasks.
    """
    words = {unit: len(task.input.split()) for unit, task in judge_tasks(compiled).items()}
    least = min(words.values(), default=0)
    answers = {unit: f"{min(100, _POINTS_PER_WORD * (count - least))}/100" for unit, count in words.items()}
    return judge_ranking(compiled, {unit: read_score(answer) for unit, answer in answers.items()})


def held_out_game(game: PlantedGame, rng: np.random.Generator) -> PlantedGame:
    """The same skill and the same roles with new tasks. A game with fixed tasks has no others: it keeps them."""
    if game.name not in TARGETS:
        return game
    return replace(game, tasks=make_tasks(game.roles, TARGETS[game.name], rng))


def choose_path(renderer: Renderer, ranking: Ranking, *, additive: bool, checkpoints: int) -> Checkpoints:
    """The checkpoints of the pruning path of a ranking."""
    known: dict[Coalition, int] = {}

    def tokens(coalition: Coalition) -> int:
        if coalition not in known:
            known[coalition] = renderer.count_tokens(renderer.render(coalition, Operator.DELETE))
        return known[coalition]

    values = {unit: interval.value for unit, interval in ranking.values.items()}
    everything = renderer.compiled.everything
    path = pruning_path(renderer.compiled, values, tokens, additive=additive)
    return choose_checkpoints(everything, path, tokens(everything), checkpoints)


def score_paths(game: PlantedGame, paths: Sequence[Checkpoints], noise: Noise) -> PanelScores:
    """The agent's chance on every task of the game, for every version that a path keeps."""
    versions = tuple(dict.fromkeys(version for path in paths for version in path.kept))
    scores = game.chances(game.column_mask(versions), noise)
    return PanelScores(tasks=tuple(task.id for task in game.tasks), versions=versions, scores=scores)


def summarize_areas(games: Sequence[GameAreas]) -> tuple[MethodArea, ...]:
    """Each method's area over these games, each game with equal weight."""
    rng = np.random.default_rng(len(games))
    rows = []
    for method in games[0]:
        area = pooled([game[method] for game in games], LEVEL, rng)
        rows.append(MethodArea(method=method, area=area.value, low=area.low, high=area.high, games=len(games)))
    return tuple(rows)


def compare_areas(games: Sequence[GameAreas]) -> tuple[AreaDifference, ...]:
    """Every method against every later one, pooled over games: paired bootstrap over tasks, and Holm's correction."""
    pairs = list(combinations(games[0], 2))
    tests = [difference_and_p([game[one] - game[other] for game in games]) for one, other in pairs]
    corrected = holm([p for _, p in tests])
    return tuple(
        AreaDifference(
            method=one,
            against=other,
            difference=change.value,
            low=change.low,
            high=change.high,
            p=p,
            p_holm=p_holm,
        )
        for (one, other), (change, p), p_holm in zip(pairs, tests, corrected, strict=True)
    )


def difference_and_p(differences: Sequence[Floats]) -> tuple[Interval, float]:
    """The pooled mean of paired differences with its interval, and the two-sided p that it is zero.

    Tasks are drawn within each game, as for the interval. p is twice the share of samples on the other side of zero.
    """
    change = pooled(list(differences), LEVEL, np.random.default_rng(len(differences)))
    samples = pooled_samples(list(differences), np.random.default_rng(len(differences)))
    beyond = min(int((samples <= 0).sum()), int((samples >= 0).sum()))
    return change, min(1.0, (2 * beyond + 1) / (DRAWS + 1))
