"""Orders a second of one core, how their cost grows with the skill, and the exact values of a 56-unit skill."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Edge,
    Extent,
    FileRole,
    Leaf,
    Lines,
    Skill,
    SkillFile,
    Span,
    Unit,
    UnitKind,
)
from skillsv.order import Sampler, exact_design


def figures() -> list[tuple[str, float, str]]:
    fifty, exact = sectioned(7, 7), sectioned(7, 8)
    return [
        ("orders of a 50-unit skill", 1 / per_order(fifty), "orders a second"),
        ("one order of it against copying its list of units", per_order(fifty) / per_copy(fifty), "x list(units)"),
        *[
            (
                f"cost per unit at {8 * sections + 1} units",
                per_unit(sectioned(sections, 8)) / per_unit(fifty),
                "x 50 units",
            )
            for sections in (31, 125, 250)
        ],
        ("exact values, 7 sections of 8 units", seconds(lambda: valued(exact), times=3), "seconds"),
    ]


def per_order(compiled: CompiledSkill) -> float:
    sampler, rng = Sampler(compiled), np.random.default_rng(1)
    times = 20_000 // len(compiled.units) + 1
    return seconds(lambda: [sampler.sample(rng) for _ in range(times)]) / times


def per_unit(compiled: CompiledSkill) -> float:
    return per_order(compiled) / len(compiled.units)


def per_copy(compiled: CompiledSkill) -> float:
    return seconds(lambda: [list(compiled.units) for _ in range(10_000)]) / 10_000


def valued(compiled: CompiledSkill) -> None:
    """All coalitions, an additive game on them with some interaction, and the product A V."""
    design = exact_design(compiled)
    worth = np.linspace(0, 1, len(design.units))
    scores = np.tanh(design.coalitions @ worth)
    assert abs((design.weights @ scores).sum() - scores.max()) < 1e-9


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The median processor time of a few runs: other programs on the machine do not count."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)


def sectioned(sections: int, units: int) -> CompiledSkill:
    """A trigger and equal sections, all free inside, which is the widest case."""
    names = [[f"s{section}/u{unit}" for unit in range(units)] for section in range(sections)]
    flat = ["m", *(name for row in names for name in row)]
    extent = Extent(file="SKILL.md", span=Span(0, 0), lines=Lines(1, 1))
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=b"", size=0, digest="")
    return CompiledSkill(
        skill=Skill(name="bench", root=Path("bench"), main="SKILL.md", files=(main,)),
        options={},
        trigger="m",
        units=tuple(Unit(id=name, kind=UnitKind.ITEM, form="bullet", extents=(extent,)) for name in flat),
        edges=tuple(Edge(rule="R6", source=name, target="m", evidence="") for name in flat[1:]),
        hierarchy=Block("root", (Leaf("m"), *(Block(row[0], tuple(map(Leaf, row))) for row in names))),
        sections=(),
        layouts=(),
    )


if __name__ == "__main__":
    for what, value, unit in figures():
        print(f"{value:>14.3f}  {unit:<34} {what}")
