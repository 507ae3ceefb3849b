"""Bootstrap and estimate of large runs, and evaluations a second beside the peers on a trivial flat game."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from skillsv.estimate import estimate_chains, permutation_values
from skillsv.estimate.intervals import bootstrap_interval
from skillsv.model.chain import ChainPlan, ChainRecord, ChainStep
from skillsv.model.coalition import Operator
from skillsv.model.skill import Block, CompiledSkill, Edge, Extent, Leaf, Lines, Section, Skill, Span, Unit, UnitKind
from skillsv.model.task import TaskWindow
from skillsv.order import Sampler

PLAYERS, ORDERS = 50, 2000


def figures() -> list[tuple[str, float, str]]:
    rng = np.random.default_rng(0)
    change = rng.integers(-1, 2, size=(100, 600)) / 8
    boot = best(lambda: bootstrap_interval(change, level=0.95, replicates=1000, rng=np.random.default_rng(1)))
    copy = best(lambda: np.repeat(change[None], 100, axis=0).sum(axis=1)) * 10
    small, wide = flat(125), flat(600)
    records = chains(small, 100, 8, rng)
    long = chains(wide, 100, 8, rng)
    rows = [
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
    return rows + peers()


def peers() -> list[tuple[str, float, str]]:
    """Evaluations a second of permutation estimators, 50 players, a game that costs next to nothing."""
    compiled = flat(PLAYERS)
    ours = ORDERS * (PLAYERS + 1) / best(lambda: run_ours(compiled))
    rows = [("SkillSV: sample orders, evaluate prefixes, average", ours, "evaluations a second")]
    if importlib.util.find_spec("shapiq"):
        rate = shapiq_rate()
        rows += [("shapiq PermutationSamplingSV", rate, "evaluations a second"), ("SkillSV", ours / rate, "x shapiq")]
    if importlib.util.find_spec("pydvl"):
        rate = pydvl_rate()
        rows += [("pyDVL permutation Shapley", rate, "evaluations a second"), ("SkillSV", ours / rate, "x pyDVL")]
    return rows


def trivial(coalitions: np.ndarray) -> np.ndarray:
    return np.atleast_2d(coalitions).sum(axis=1, dtype=np.float64)


def run_ours(compiled: CompiledSkill) -> np.ndarray:
    column = {unit: place for place, unit in enumerate(compiled.execution)}
    drawn = Sampler(compiled).orders(np.random.default_rng(2), ORDERS)
    return permutation_values(np.array([[column[unit] for unit in order[1:]] for order in drawn]), trivial)


def shapiq_rate() -> float:
    import shapiq

    budget = 20_000
    estimator = shapiq.PermutationSamplingSV(n=PLAYERS, random_state=1)
    return budget / best(lambda: estimator.approximate(budget=budget, game=trivial))


def pydvl_rate() -> float:
    from pydvl.valuation import PermutationSampler, ShapleyValuation
    from pydvl.valuation.dataset import Dataset
    from pydvl.valuation.stopping import MaxUpdates
    from pydvl.valuation.utility.base import UtilityBase

    calls = 0

    class Count(UtilityBase):
        def __call__(self, sample):
            nonlocal calls
            calls += 1
            return 0.0 if sample is None else float(len(sample.subset))

    data = Dataset(np.zeros((PLAYERS, 1)), np.zeros(PLAYERS))
    utility = Count()
    utility._training_data = data  # noqa: SLF001 - the base class offers no other way to give data to a trivial utility
    start = time.perf_counter()
    ShapleyValuation(utility, PermutationSampler(seed=1), is_done=MaxUpdates(100), progress=False).fit(data)
    return calls / (time.perf_counter() - start)


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
