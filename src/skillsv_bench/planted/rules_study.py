"""The ablation of the heuristic rules R3, R8 and R9: what a valuation loses when the compiler does not apply one.

On the planted rule game the truth is known, so values and pruning can be judged. On any other skill the structure can:
units, edges, closures, and how many prefixes would show a unit without what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.extend.comparison import areas, holm, pooled
from skillsv.extend.estimators import (
    RULES,
    TRIGGER_RULE,
    CompileOptions,
    Renderer,
    Sampler,
    compile_files,
    estimate_chains,
)
from skillsv.model.coalition import Operator, Order
from skillsv.model.skill import CompiledSkill, Skill
from skillsv.model.value import Interval, Ranking
from skillsv_bench.planted.areas import CHECKPOINTS, LEVEL, choose_path, difference_and_p, score_paths
from skillsv_bench.planted.game import Floats, PlantedGame
from skillsv_bench.planted.rule_game import by_mark, make_rule_game, needed_marks
from skillsv_bench.planted.simulate import SharedNoise, make_plans, record_chains
from skillsv_bench.planted.studies import Setting

ALL_RULES = "all rules"
"""The name of the row without an ablation."""

HEURISTIC = tuple(rule.id for rule in RULES if rule.heuristic)
"""The rules that look at words and layout only; the paper ablates these."""

SCORE_COLUMNS = ("area", "difference", "low", "high")
"""The columns of rows that hold amounts of score."""

ORDERS = 200
"""Sampled orders behind the share of broken prefixes."""

RENDERED = 40
"""Sampled prefixes that are rendered to see how Markdown reads them."""

_Needs = Mapping[str, frozenset[str]]
"""The units that each unit really needs, directly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStructure:
    """What the compiler makes of a skill without some rules.

    `edges` are those besides the trigger's. `closure` is the mean number of units that a unit needs, directly or not,
    and `largest_closure` the largest. `broken` is the share of prefixes along sampled orders in which a unit stands
    without something that it needs, `reread` the share of rendered prefixes in which Markdown reads a unit as another
    kind of block.
    """

    rules: str
    units: int
    edges: int
    closure: float
    largest_closure: int
    broken: float
    reread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAblation(RuleStructure):
    """The structure, and what the values are worth, as means over games.

    Errors are root mean squares over the spread of the true values: `exact_error` of the exact values over the orders
    that are left, `error` of Algorithm 1's estimate. `area` is the one under the pruning curve, `difference` is paired
    with the area of all rules.
    """

    exact_error: float
    error: float
    area: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurement:
    """One ablation on one game."""

    exact_error: float
    error: float
    areas: Floats


def ablations() -> Mapping[str, frozenset[str]]:
    """The rows of the study: all rules, each heuristic rule left out alone, and all heuristic rules left out."""
    single = {f"without {rule}": frozenset({rule}) for rule in HEURISTIC}
    return {ALL_RULES: frozenset(), **single, f"without {', '.join(HEURISTIC)}": frozenset(HEURISTIC)}


def study_rules(setting: Setting, *, games: Sequence[int], repetitions: int = 1) -> tuple[RuleAblation, ...]:
    """All ablations on the rule games of these seeds. Every ablation has the same tasks and the same noise."""
    needs = needed_marks()
    all_games = {seed: make_rule_game(seed) for seed in games}
    truths = {seed: game.true_values(setting.noise) for seed, game in all_games.items()}
    measured = {
        name: [_measure(seed, without, truths[seed], setting, repetitions) for seed in games]
        for name, without in ablations().items()
    }
    tests = {
        name: difference_and_p([row.areas - full.areas for row, full in zip(rows, measured[ALL_RULES], strict=True)])
        for name, rows in measured.items()
        if name != ALL_RULES
    }
    corrected = dict(zip(tests, holm([p for _, p in tests.values()]), strict=True))
    any_game = next(iter(all_games.values()))
    rows = []
    for name, without in ablations().items():
        game = any_game.compiled_with(without)
        real = {unit: frozenset(game.unit_of[other] for other in needs[mark]) for mark, unit in game.unit_of.items()}
        structure = measure_structure(name, game.compiled, real)
        change = tests[name][0] if name in tests else None
        rows.append(_summarize(structure, measured[name], change, corrected.get(name)))
    return tuple(rows)


def _summarize(
    structure: RuleStructure, rows: Sequence[_Measurement], change: Interval | None, p_holm: float | None
) -> RuleAblation:
    return RuleAblation(
        rules=structure.rules,
        units=structure.units,
        edges=structure.edges,
        closure=structure.closure,
        largest_closure=structure.largest_closure,
        broken=structure.broken,
        reread=structure.reread,
        exact_error=float(np.mean([row.exact_error for row in rows])),
        error=float(np.mean([row.error for row in rows])),
        area=pooled([row.areas for row in rows], LEVEL, np.random.default_rng(len(rows))).value,
        difference=None if change is None else change.value,
        low=None if change is None else change.low,
        high=None if change is None else change.high,
        p_holm=p_holm,
    )


def _measure(
    seed: int, without: frozenset[str], truth: Mapping[str, float], setting: Setting, repetitions: int
) -> _Measurement:
    """Errors against the truth, and pruning areas on new tasks; means over repetitions of the estimate."""
    game = make_rule_game(seed).compiled_with(without)
    held_out = make_rule_game(seed, panel="B").game_of(game.compiled)
    renderer, rng = Renderer(game.compiled), np.random.default_rng([seed, 3])
    errors, all_areas = [], []
    for _ in range(repetitions):
        ranking = _rank(game, setting, rng)
        column = np.array([ranking.values[unit].value for unit in game.compiled.execution])
        errors.append(_error(by_mark(game, column), truth))
        path = choose_path(renderer, ranking, additive=True, checkpoints=CHECKPOINTS)
        all_areas.append(areas(score_paths(held_out, [path], setting.noise), [path]))
    exact_error = _error(by_mark(game, game.truth(setting.noise)), truth)
    return _Measurement(
        exact_error=exact_error, error=float(np.mean(errors)), areas=np.asarray(np.mean(all_areas, axis=0))
    )


def _rank(game: PlantedGame, setting: Setting, rng: np.random.Generator) -> Ranking:
    shared_noise = SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=setting.tolerance)
    records = record_chains(game, plans, noise=setting.noise, shared_noise=shared_noise)
    estimate = estimate_chains(game.compiled, records)
    return Ranking(method="skillsv", values={unit.id: unit.net_or_zero for unit in estimate.units})


def _error(values: Mapping[str, float], truth: Mapping[str, float]) -> float:
    gaps = np.array([values[name] - value for name, value in truth.items()])
    return float(np.sqrt(np.mean(gaps**2)) / np.std(list(truth.values())))


def ablate_skill(skill: Skill, options: CompileOptions) -> tuple[RuleStructure, ...]:
    """The structure of any skill under every ablation. What all rules find counts as what a unit really needs."""
    full = compile_files(skill, options)
    real = {unit: frozenset(full.needs.get(unit, ())) - {full.trigger} for unit in full.execution}
    rows = []
    for name, without in ablations().items():
        compiled = compile_files(skill, replace(options, without=options.without | without))
        known = frozenset(compiled.execution)
        needs = {unit: needed & known for unit, needed in real.items() if unit in known}
        rows.append(measure_structure(name, compiled, needs))
    return tuple(rows)


def measure_structure(name: str, compiled: CompiledSkill, needs: _Needs) -> RuleStructure:
    """Sizes of the compiled structure, and the shares of broken and of reread prefixes along sampled orders."""
    rng = np.random.default_rng(len(compiled.execution))
    orders = list(Sampler(compiled).orders(rng, ORDERS))
    closures = [len(compiled.closure(frozenset({unit}))) - 2 for unit in compiled.execution]
    pairs = {(edge.source, edge.target) for edge in compiled.edges if edge.rule != TRIGGER_RULE}
    return RuleStructure(
        rules=name,
        units=len(compiled.execution),
        edges=len(pairs),
        closure=float(np.mean(closures)) if closures else 0.0,
        largest_closure=max(closures, default=0),
        broken=_broken_share(orders, needs),
        reread=_reread_share(compiled, orders[:RENDERED], rng),
    )


def _broken_share(orders: Sequence[Order], needs: _Needs) -> float:
    """The share of prefixes between {m} and the full skill that hold a unit without something that it needs."""
    broken = total = 0
    for order in orders:
        place = {unit: index for index, unit in enumerate(order)}
        bad = np.zeros(len(order), dtype=np.bool_)
        for unit, needed in needs.items():
            last = max((place[other] for other in needed), default=0)
            bad[place[unit] : last] = True
        broken += int(bad[1:-1].sum())
        total += len(order) - 2
    return broken / total if total > 0 else 0.0


def _reread_share(compiled: CompiledSkill, orders: Sequence[Order], rng: np.random.Generator) -> float:
    """The share of renderings by deletion, one prefix of each order, that carry the flag of a changed kind."""
    renderer = Renderer(compiled)
    changed = 0
    for order in orders:
        prefix = frozenset(order[: int(rng.integers(1, len(order))) + 1])
        flags = renderer.render(prefix, Operator.DELETE).flags
        changed += any(flag.startswith("changed-kind:") for flag in flags)
    return changed / len(orders) if orders else 0.0
