"""The paper's mechanism figure: planted roles as SkillSV, with both operators, and all baselines recover them.

The run is a real one: files are rendered, the planted agent reads them, the ledger keeps every rollout. One kind of
task is added to the mechanism game that is solved only while the skill is short, so that the two operators differ: a
unit has a context cost that padding keeps and deletion removes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skillsv.extend.estimators import Renderer, exact_values, planted_logit, read_marks
from skillsv.extend.figures import Figure
from skillsv.extend.runs import RunOverrides, Stop, ValuationJob, make_rankings, plan_job, reopen, run_plan
from skillsv.extend.settings import settings_from
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.protocols import Listener
from skillsv.model.value import Interval, Ranking, UnitReport
from skillsv_bench.figures import MethodColumn, methods_figure
from skillsv_bench.planted.game import PlantedGame, make_task, planted_formula
from skillsv_bench.planted.generate import planted_skill, write_game
from skillsv_bench.tables import Cell, Table

CROWDED_TASKS = 8
"""Tasks that a long skill fails, as many as each mechanism has."""

_CROWDED = {"base": 0.5, "main": {}, "crowd": [60, 100.0]}
"""Solved while the skill has at most 60 words: the whole skill has about 100, its trigger alone 12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismOptions:
    """Where the run is kept, the chains, the seed, and the agent that judges units (None: no judge)."""

    folder: Path
    orders: int = 48
    window: int = 8
    seed: int = 0
    judge: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """The game, the true values by operator, the units as they were valued, and the baselines by name."""

    game: PlantedGame
    truth: Mapping[Operator, Mapping[str, float]]
    units: tuple[UnitReport, ...]
    rankings: Mapping[str, Ranking]


def make_crowded_game() -> PlantedGame:
    """The mechanism game with tasks that a long skill fails."""
    game = planted_skill("mechanism")
    first = len(game.tasks)
    crowded = tuple(make_task(first + number, "crowded", _CROWDED) for number in range(CROWDED_TASKS))
    return replace(game, tasks=(*game.tasks, *crowded))


def true_values(game: PlantedGame) -> dict[Operator, dict[str, float]]:
    """phi(mu) of every execution unit under each operator, exactly, from the rendered files."""
    renderer = Renderer(game.compiled)
    formulas = [planted_formula(task) for task in game.tasks]

    def score(coalition: Coalition, operator: Operator) -> float:
        sight = read_marks(renderer.render(coalition, operator).text)
        return float(np.mean([planted_logit(formula, sight if coalition else None) > 0 for formula in formulas]))

    return {
        operator: {
            unit: value
            for unit, value in exact_values(game.compiled, lambda coalition: score(coalition, operator)).items()  # noqa: B023 - called at once
            if unit != game.compiled.trigger
        }
        for operator in Operator
    }


async def run_mechanism(options: MechanismOptions, listener: Listener, stop: Stop) -> Mechanism:
    """Value the game with both operators, and run the baselines. The same folder again costs nothing."""
    game = make_crowded_game()
    place = options.folder / "game"
    skill = write_game(game, place)
    settings = settings_from(
        {
            "method": "chain",
            "orders": options.orders,
            "window": options.window,
            "tolerance": "off",
            "operators": [operator.value for operator in Operator],
            "panel_a": len(game.tasks),
            "panel_b": 0,
            "seed": options.seed,
        }
    )
    job = ValuationJob(
        skill=skill, tasks=place / "tasks.jsonl", agent="planted:rules", settings=settings, folder=Path.cwd()
    )
    run = await run_plan(plan_job(job, run_dir=options.folder / "run"), listener, stop)
    if run.error is not None:
        raise run.error
    reopened = reopen(run.folder, RunOverrides(judge=options.judge))
    methods = ("loo", *(("judge",) if options.judge else ()), "random")
    rankings = await make_rankings(reopened, methods, listener, stop)
    return Mechanism(
        game=game,
        truth=true_values(game),
        units=run.valuation.units,
        rankings={method: ranked[0] for method, ranked in rankings.items()},
    )


def _columns(found: Mechanism) -> list[MethodColumn]:
    """All methods beside the truth. The judge and chance have scales of their own."""
    truth = {operator: {unit: Interval(v, v, v) for unit, v in found.truth[operator].items()} for operator in Operator}
    columns = [
        MethodColumn(title="true net", values=truth[Operator.DELETE]),
        MethodColumn(title="SkillSV, net (delete)", values={unit.id: unit.value.on_panel for unit in found.units}),
        MethodColumn(title="true content", values=truth[Operator.PAD]),
        MethodColumn(
            title="SkillSV, content (pad)",
            values={unit.id: unit.value.content for unit in found.units if unit.value.content is not None},
        ),
    ]
    titles = {"loo": "Closure-LOO", "judge": "LLM judge, of 100", "random": "random, of 100"}
    return [*columns, *(MethodColumn(title=titles[name], values=rank.values) for name, rank in found.rankings.items())]


def mechanism_figure(found: Mechanism) -> Figure:
    """One row per unit with its planted role, one column per method."""
    return methods_figure(
        [(unit.id, f"{found.game.role_of[unit.id]}: {unit.id}") for unit in found.units],
        _columns(found),
        name="mechanism",
        title="Planted roles by method",
        note="True and recovered values in points, with intervals. Each column has a scale of its own.",
    )


def mechanism_table(found: Mechanism) -> Table:
    """The numbers of the figure."""
    columns = _columns(found)
    names = tuple(name for column in columns for name in _names(column))
    rows: list[tuple[Cell, ...]] = []
    for unit in found.units:
        values = [(column.values[unit.id], len(_names(column))) for column in columns]
        cells = [cell for value, count in values for cell in (value.value, value.low, value.high)[:count]]
        rows.append((unit.id, str(found.game.role_of[unit.id]), *cells))
    title = "Planted roles by method"
    return Table(name="mechanism", title=title, columns=("unit", "role", *names), rows=tuple(rows), points=names)


def _names(column: MethodColumn) -> tuple[str, ...]:
    """The columns of a method in the table: the value, and the ends of its intervals where it has some."""
    has_intervals = any(value.low < value.high for value in column.values.values())
    return tuple(f"{column.title}{end}" for end in (("", " low", " high") if has_intervals else ("",)))
