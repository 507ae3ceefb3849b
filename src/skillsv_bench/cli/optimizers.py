"""`skillsv bench optimizers`: what pruning changes in the texts that optimizers write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.errors import SettingsError
from skillsv.extend.commands import Json, deliver, json_text

if TYPE_CHECKING:
    from skillsv_bench.optimizers.study import Comparison

SCHEMA = "skillsv.bench.optimizers/1"


def optimizers(
    *,
    names: Annotated[str, Parameter(help="Optimizers, comma separated: gepa,dspy,textgrad,skillopt.")] = "gepa",
    games: Annotated[int, Parameter(help="Growth games for each optimizer.")] = 20,
    budget: Annotated[int, Parameter(help="Metric calls of a game in all, pruning included.")] = 6000,
    prune_budget: Annotated[int, Parameter(help="Metric calls of one pruning.")] = 800,
    every: Annotated[int, Parameter(help="Prune after this many accepted edits.")] = 5,
    max_drop: Annotated[float, Parameter(help="Points that a shorter text may lose at most.")] = 10.0,
    flips: Annotated[float, Parameter(help="Chance that a score is wrong.")] = 0.0,
    seed: Annotated[int, Parameter(help="Seed of the first game.")] = 2000,
    json: Json = False,
) -> int:
    """skillsv bench optimizers --names gepa,textgrad --games 20

    Let real optimizers with a scripted editor grow texts whose lines have known effects, alone and with prune and
    confirm, at the same total of metric calls. Minutes for each optimizer; no model and no network.
    """
    from skillsv.integrations.pruning import PrunePolicy
    from skillsv_bench.optimizers import study
    from skillsv_bench.optimizers.growth import GrowthGame

    chosen = [name.strip() for name in names.split(",")]
    unknown = [name for name in chosen if name not in study.OPTIMIZERS]
    if unknown or games < 1:
        raise SettingsError(
            f"there is no optimizer {unknown[0]!r}." if unknown else f"--games {games} compares nothing.",
            hint=f"Choose from {', '.join(study.OPTIMIZERS)}, and at least one game.",
        )
    policy = PrunePolicy(every=every, budget=prune_budget, max_drop=max_drop, jobs=1)
    drawn = [GrowthGame(seed=number, flips=flips) for number in range(seed, seed + games)]
    played = list(study.play_games(chosen, drawn, budget, policy, tell=_tell))
    rows = study.compare(played)
    deliver(json_text({"schema": SCHEMA, **study.as_dict(rows, played)}) if json else _text(rows), None)
    return 0


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _text(rows: list[Comparison]) -> str:
    head = ("optimizer", "games", "score alone", "change", "tokens alone", "ratio", "useless alone", "ratio", "pruning")
    layout = "{:10}{:>6}{:>13}{:>16}{:>14}{:>14}{:>15}{:>14}{:>9}"
    return "\n".join([layout.format(*head), *(layout.format(*_cells(row)) for row in rows)]) + "\n"


def _cells(row: Comparison) -> tuple[object, ...]:
    return (
        row.optimizer,
        row.games,
        f"{100 * row.score_alone:.1f}",
        f"{100 * row.score_change:+.1f} ± {100 * row.score_change_se:.1f}",
        f"{row.tokens_alone:.0f}",
        f"{row.token_ratio:.2f} ± {row.token_ratio_se:.2f}",
        f"{row.useless_alone:.1f}",
        f"{row.useless_ratio:.2f} ± {row.useless_ratio_se:.2f}",
        f"{row.pruning / row.calls:.0%}",
    )
