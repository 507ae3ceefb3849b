"""Makes a planted game of a kind: text, compiled skill, tasks. The seed decides roles and tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from skillsv.errors import SettingsError
from skillsv.extend.estimators import compile_files
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.model.task import Task
from skillsv_bench.planted.game import TARGETS, PlantedGame, Role, assign_roles, make_task, make_tasks
from skillsv_bench.planted.skills import SHAPES, SectionPlan, mark, skill_text

MAIN = "SKILL.md"
"""The path of a planted skill's only file."""

KINDS = ("mechanism", *SHAPES)
"""The small game of the paper's mechanism figure, and four shaped like the paper's skills."""

_MECHANISM_SECTIONS = (SectionPlan(units=2), SectionPlan(units=2), SectionPlan(units=3))
_MECHANISM_ROLES = (Role.OR, Role.OR, Role.AND, Role.AND, Role.STRONG, Role.HARMFUL, Role.DEAD)
_MECHANISM_FORMULAS: Mapping[str, Mapping[str, Any]] = {
    "either": {"base": -1.0, "main": {}, "any": [[[mark(1), mark(2)], 2.0]]},
    "both": {"base": -1.0, "main": {}, "all": [[[mark(3), mark(4)], 2.0]]},
    "alone": {"base": -1.0, "main": {mark(5): 2.0}},
    "harmed": {"base": 1.0, "main": {mark(6): -2.0}},
}


def planted_skill(kind: str, seed: int = 0) -> PlantedGame:
    """The planted game of that kind (one of `KINDS`); the same seed gives the same game."""
    if kind not in KINDS:
        raise SettingsError(f"there is no planted game {kind!r}.", hint=f"Choose from {', '.join(KINDS)}.")
    sections = _MECHANISM_SECTIONS if kind == "mechanism" else SHAPES[kind]
    rng = np.random.default_rng([seed, *kind.encode()])
    if kind == "mechanism":
        roles = {mark(place + 1): role for place, role in enumerate(_MECHANISM_ROLES)}
        tasks = _mechanism_tasks()
    else:
        roles = assign_roles(sum(section.units for section in sections), rng)
        tasks = make_tasks(roles, TARGETS[kind], rng)
    data = skill_text(kind, sections).encode()
    main = SkillFile(path=MAIN, role=FileRole.MAIN, data=data, size=len(data), digest=sha256(data).hexdigest())
    skill = Skill(name=f"planted-{kind}", root=Path(f"planted-{kind}"), main=MAIN, files=(main,))
    return PlantedGame(name=kind, compiled=compile_files(skill), files={MAIN: data}, tasks=tasks, roles=roles)


def _mechanism_tasks() -> tuple[Task, ...]:
    """Eight tasks for each mechanism, a stratum each: V({m}) = 1/4, V(N) = 3/4."""
    strata = [name for name in _MECHANISM_FORMULAS for _ in range(8)]
    return tuple(make_task(number, name, _MECHANISM_FORMULAS[name]) for number, name in enumerate(strata))


def write_game(game: PlantedGame, folder: Path) -> Path:
    """Write the skill and its `tasks.jsonl` beside it, ready for `skillsv value`; returns the skill's folder."""
    skill = folder / game.compiled.skill.name
    for path, data in game.files.items():
        (skill / path).parent.mkdir(parents=True, exist_ok=True)
        (skill / path).write_bytes(data)
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(_as_line(task))}\n" for task in game.tasks))
    return skill


def _as_line(task: Task) -> dict[str, Any]:
    fields = ("id", "input", "target", "stratum", "verifier", "metadata")
    return {name: getattr(task, name) for name in fields}
