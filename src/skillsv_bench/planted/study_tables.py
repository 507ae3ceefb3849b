"""The studies of truncation, pruning and rules as tables: a title, plain rows, and the columns that are in points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from skillsv.errors import SettingsError
from skillsv_bench.planted import areas, rule_game, rules_study, truncation
from skillsv_bench.planted.game import TARGETS, PlantedGame
from skillsv_bench.planted.generate import planted_skill
from skillsv_bench.planted.studies import Setting

StudyTable = dict[str, Any]
"""`game`, `title`, `rows` and `points`; rows hold shares, `points` names the columns that people read in points."""


def truncation_table(game: PlantedGame, setting: Setting, repetitions: int, seed: int) -> StudyTable:
    """The truncation control on one game."""
    rows = truncation.study_truncation(game, setting, repetitions=repetitions, seed=seed)
    size = f"{len(game.compiled.execution)} units, {len(game.tasks)} tasks, windows of {setting.window}"
    return {
        "game": game.name,
        "title": f"{game.name}: {size}, {repetitions} runs of {setting.chains} chains",
        "rows": [asdict(row) for row in rows],
        "points": truncation.SCORE_COLUMNS,
    }


def pruning_tables(kinds: Sequence[str], setting: Setting, seeds: Sequence[int]) -> list[StudyTable]:
    """The areas on each kind of game, and the differences between methods, pooled over all games."""
    for kind in kinds:
        require_window(kind, len(planted_skill(kind, seeds[0]).tasks), setting)
    found = {kind: areas.study_areas(kind, setting, games=seeds) for kind in kinds}
    tables = [
        {
            "game": kind,
            "title": f"{kind}: pruning curves on {'new' if kind in TARGETS else 'the same'} tasks, {len(games)} games",
            "rows": [asdict(row) for row in areas.summarize_areas(games)],
            "points": ("area", "low", "high"),
        }
        for kind, games in found.items()
    ]
    every = [game for games in found.values() for game in games]
    pooled = {
        "game": "pooled",
        "title": f"pooled: differences of areas over {len(every)} games, paired by task, p by Holm",
        "rows": [asdict(row) for row in areas.compare_areas(every)],
        "points": ("difference", "low", "high"),
    }
    return [*tables, pooled]


def rules_table(setting: Setting, seeds: Sequence[int]) -> StudyTable:
    """The ablation of the heuristic rules."""
    require_window(rule_game.NAME, rule_game.TASKS, setting)
    rows = rules_study.study_rules(setting, games=seeds)
    return {
        "game": rule_game.NAME,
        "title": f"rules: {rows[0].units} units, {rule_game.TASKS} tasks, {len(seeds)} games",
        "rows": [asdict(row) for row in rows],
        "points": rules_study.SCORE_COLUMNS,
    }


def require_window(name: str, tasks: int, setting: Setting) -> None:
    """Raise SettingsError for a game with fewer tasks than a window."""
    if setting.window > tasks:
        raise SettingsError(f"game {name} has {tasks} tasks, fewer than a window of {setting.window}.")
