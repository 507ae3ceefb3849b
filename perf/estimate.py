"""Bootstrap and estimate of large runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from skillsv.estimate import estimate_chains
from skillsv.estimate.intervals import bootstrap_interval
from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Operator
from skillsv.model.skill import Block, CompiledSkill, Edge, Extent, Leaf, Lines, Section, Skill, Span, Unit, UnitKind
from skillsv.model.task import TaskWindow
from skillsv.order import Sampler


def figures() -> list[tuple[str, float, str]]:
    rng = np.random.default_rng(0)
    change = rng.integers(-1, 2, size=(100, 600)) / 8
    boot = best(lambda: bootstrap_interval(change, level=0.95, replicates=1000, rng=np.random.default_rng(1)))
    copy = best(lambda: np.repeat(change[None], 100, axis=0).sum(axis=1)) * 10
    small, wide = flat(125), flat(600)
    records = chains(small, 100, 8, rng)
    long = chains(wide, 100, 8, rng)
    return [
        ("1,000 bootstrap replicates, 100 chains of 600 units", boot, "seconds (under 0.5)"),
        ("the same against summing 1,000 copies of the table", boot / copy, "x sum of copies"),
        (
            "estimate from 100,000 rollouts (100 chains, 125 units)",
            best(lambda: estimate_chains(small, records)),
            "seconds (under 1)",
        ),
        (
            "estimate from 480,000 rollouts (100 chains, 600 units)",
            best(lambda: estimate_chains(wide, long)),
            "seconds",
        ),
    ]


def best(job: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of a few runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        job()
        taken.append(time.perf_counter() - start)
    return min(taken)


def flat(count: int) -> CompiledSkill:
    names = ["m", *(f"u{number:03d}" for number in range(count))]
    units = tuple(
        Unit(
            id=name,
            kind=UnitKind.ITEM if place else UnitKind.TRIGGER,
            form="bullet",
            extents=(Extent(file="SKILL.md", span=Span(place, place + 1), lines=Lines(place + 1, place + 1)),),
        )
        for place, name in enumerate(names)
    )
    return CompiledSkill(
        skill=Skill(name="flat", root=Path("flat"), main="SKILL.md", files=()),
        options={},
        trigger="m",
        units=units,
        edges=tuple(Edge(rule="R6", source=name, target="m", evidence="") for name in names[1:]),
        hierarchy=Block("root", tuple(Leaf(name) for name in names)),
        sections=(Section(title="", path=(), file=None, level=0, parent=None),),
        layouts=(),
    )


def chains(compiled: CompiledSkill, count: int, width: int, rng: np.random.Generator) -> list[ChainRecord]:
    """Noisy chains: every score a coin, the dearest case for the estimate."""
    window = TaskWindow(tasks=tuple(f"t{number}" for number in range(width)))
    made = []
    for index, order in enumerate(Sampler(compiled).orders(rng, count)):
        rows = [tuple(row) for row in rng.integers(0, 2, size=(len(order) + 2, width)).astype(float).tolist()]
        steps = tuple(
            ChainStep(operator=Operator.DELETE, position=place, unit=order[place], scores=rows[place])
            for place in range(1, len(order))
        )
        plan = ChainPlan(index=index, order=order, window=window, operators=(Operator.DELETE,), tolerance=None)
        made.append(ChainRecord(plan=plan, empty=rows[-1], trigger=(rows[0],), full=steps[-1].scores, steps=steps))
    return made


if __name__ == "__main__":
    for what, value, unit in figures():
        print(f"{value:>14.3f}  {unit:<34} {what}")
