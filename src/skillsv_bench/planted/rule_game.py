"""A planted game whose units really need each other, in the forms that the heuristic rules R3, R8 and R9 look for.

A unit that needs another helps only together with it, and misleads without it. One unit quotes a heading that it does
not need: an edge that R3 finds is wrong there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from skillsv.extend.estimators import CompileOptions, compile_files
from skillsv.model.skill import CompiledSkill, FileRole, Skill, SkillFile
from skillsv.model.task import Task
from skillsv_bench.planted.game import STRATA, Floats, Noise, PlantedGame, Role, make_task
from skillsv_bench.planted.generate import MAIN
from skillsv_bench.planted.skills import ADVICE, TOPICS, mark

NAME = "rules"
"""The name of the game."""

TASKS = 60
"""The tasks of one panel."""

_KINDS = {"together": 0.4, "alone": 0.15, "either": 0.1, "misled": 0.2, "kept": 0.1, "never": 0.05}
"""The kinds of tasks with their frequencies; `_TaskWriter` has a method of each name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One planted unit: the form of its line, the number of the unit that it needs, and of the section it quotes."""

    form: str
    needs: int | None = None
    quotes: int | None = None
    quoted_in_vain: bool = False


_BULLET, _PLAIN, _LEAD, _STEP = "- {}.", "{}.", "{}, and then:", "1. {}."

SECTIONS: tuple[tuple[_Line, ...], ...] = (
    (_Line(form=_PLAIN), _Line(form=_PLAIN)),
    (_Line(form=_LEAD), *(_Line(form=_BULLET, needs=3) for _ in range(4))),
    (
        _Line(form=_STEP),
        *(_Line(form=_BULLET, needs=8) for _ in range(2)),
        _Line(form=_STEP),
        *(_Line(form=_BULLET, needs=11) for _ in range(2)),
    ),
    (*(_Line(form=_BULLET) for _ in range(3)), _Line(form=_BULLET, needs=3, quotes=1)),
    (_Line(form=_LEAD), *(_Line(form=_BULLET, needs=18) for _ in range(3))),
    (_Line(form=_BULLET), _Line(form=_BULLET, needs=18, quotes=4), _Line(form=_BULLET)),
    (
        _Line(form=_STEP),
        *(_Line(form=_BULLET, needs=25) for _ in range(2)),
        _Line(form=_PLAIN, quotes=2, quoted_in_vain=True),
    ),
)
"""The sections, in order: paragraphs, lead-ins with lists (R9), steps with bullets (R8), quoted headings (R3)."""


def needed_marks() -> Mapping[str, tuple[str, ...]]:
    """The marks that each mark needs, directly: the planted truth, whatever the compiler finds."""
    lines = [line for section in SECTIONS for line in section]
    return {
        mark(number): () if line.needs is None else (mark(line.needs),) for number, line in enumerate(lines, start=1)
    }


def rule_skill(*, hide_false: bool = False) -> Skill:
    """The skill. With `hide_false`, the heading that is quoted in vain is in lower case, so that no rule finds it."""
    lines = ["---", f"name: planted-{NAME}", "description: A made-up skill whose values are known.", "---", ""]
    lines += [f"# The {NAME} skill", ""]
    number = 0
    for place, section in enumerate(SECTIONS):
        lines += [f"## {TOPICS[place]}", ""]
        for line in section:
            number += 1
            lines += _write_line(line, number, hide_false=hide_false)
        lines.append("")
    data = "\n".join(lines).encode()
    main = SkillFile(path=MAIN, role=FileRole.MAIN, data=data, size=len(data), digest=sha256(data).hexdigest())
    return Skill(name=f"planted-{NAME}", root=Path(f"planted-{NAME}"), main=MAIN, files=(main,))


def _write_line(line: _Line, number: int, *, hide_false: bool) -> Iterator[str]:
    sentence = f"{ADVICE[number % len(ADVICE)]} [{mark(number)}]"
    if line.quotes is not None:
        topic = TOPICS[line.quotes]
        sentence += f", as under {topic.lower() if hide_false and line.quoted_in_vain else topic}"
    if line.form == _PLAIN:
        yield ""
    yield line.form.format(sentence)
    if line.form in {_PLAIN, _LEAD}:
        yield ""


@dataclass(frozen=True, kw_only=True)
class RuleGame:
    """Tasks over the marks of the rule skill; any compilation of the skill is a game with them."""

    tasks: tuple[Task, ...]

    def compiled_with(self, without: frozenset[str] = frozenset(), *, hide_false: bool = False) -> PlantedGame:
        """The game as the compiler sees it without some rules."""
        skill = rule_skill(hide_false=hide_false)
        return self.game_of(compile_files(skill, CompileOptions(without=without)))

    def game_of(self, compiled: CompiledSkill) -> PlantedGame:
        """The game with this compilation of its skill."""
        data = compiled.skill.file(MAIN).data
        assert data is not None
        roles = dict.fromkeys(needed_marks(), Role.WEAK)
        return PlantedGame(name=NAME, compiled=compiled, files={MAIN: data}, tasks=self.tasks, roles=roles)

    def true_values(self, noise: Noise) -> Mapping[str, float]:
        """The exact value of every mark over the orders that the planted needs allow, and no others."""
        game = self.compiled_with(hide_false=True)
        return by_mark(game, game.truth(noise))


def by_mark(game: PlantedGame, values: Floats) -> Mapping[str, float]:
    """The values of execution units, given in columns, by mark."""
    column = {unit: place for place, unit in enumerate(game.compiled.execution)}
    return {name: float(values[column[unit]]) for name, unit in game.unit_of.items()}


def make_rule_game(seed: int, panel: str = "A") -> RuleGame:
    """Draw the tasks of a game; the text is always the same. Another `panel` has other tasks of the same recipe."""
    rng = np.random.default_rng([seed, *f"{NAME}-{panel}".encode()])
    writer = _TaskWriter(rng)
    kinds = rng.choice(list(_KINDS), size=TASKS, p=list(_KINDS.values()))
    return RuleGame(
        tasks=tuple(
            make_task(number, STRATA[number % len(STRATA)], writer.write(str(kind)))
            for number, kind in enumerate(kinds)
        )
    )


class _TaskWriter:
    """Writes the formulas of tasks from the planted needs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        needs = needed_marks()
        self.dependent = {name: found for name, found in needs.items() if found}
        self.free = [name for name, found in needs.items() if not found]

    def write(self, kind: str) -> dict[str, Any]:
        formula: dict[str, Any] = getattr(self, f"_{kind}")()
        return {**formula, "bare": formula["base"]}

    def _draw(self, names: list[str], count: int = 1) -> list[str]:
        return [str(name) for name in self.rng.choice(names, size=count, replace=False)]

    def _draw_dependent(self) -> list[str]:
        (name,) = self._draw(list(self.dependent))
        return [name, *self.dependent[name]]

    def _together(self) -> dict[str, Any]:
        """Solved by a unit with what it needs."""
        return {"base": -1.0, "main": {}, "all": [[self._draw_dependent(), 2.0]]}

    def _alone(self) -> dict[str, Any]:
        return {"base": -1.0, "main": {self._draw(self.free)[0]: 2.0}}

    def _either(self) -> dict[str, Any]:
        return {"base": -1.0, "main": {}, "any": [[self._draw(self.free, 2), 2.0]]}

    def _misled(self) -> dict[str, Any]:
        """Solved without the skill, and lost where a unit stands without what it needs."""
        group = self._draw_dependent()
        return {"base": 1.0, "main": {group[0]: -2.0}, "all": [[group, 2.0]]}

    def _kept(self) -> dict[str, Any]:
        return {"base": 1.0, "main": {}}

    def _never(self) -> dict[str, Any]:
        return {"base": -1.0, "main": {}}
