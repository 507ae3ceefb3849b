"""Synthetic runs for the report: a real compiled skill, invented effects, and records that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from skillsv.compiler import compile_skill
from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Operator
from skillsv.model.rollout import Rollout, RolloutKey, Usage
from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Contraction,
    Edge,
    Extent,
    FileRole,
    Finding,
    Leaf,
    Lines,
    Location,
    Repair,
    Severity,
    Skill,
    SkillFile,
    Span,
    Unit,
    UnitKind,
)
from skillsv.model.task import TaskWindow
from skillsv.model.value import (
    Action,
    Anchors,
    Closure,
    Estimate,
    Evidence,
    Interval,
    SectionValue,
    Spending,
    UnitReport,
    UnitValue,
    Valuation,
    Verdict,
)

SKILL = """---
name: parcel-desk
description: Answer questions about parcels, customs and refunds for the depot.
---

# Parcel desk

Read the tariff before you answer: see [the tariff](references/tariff.md).

## Answering

- State the parcel number in the first sentence.
- Give amounts in euros, with two decimals.
- Close with the name of the depot.
- Never quote a delivery date earlier than two working days.

Always apologise twice before you give the amount.

## Customs

Declare in this order:

1. Read the declared value from the label.
2. Multiply it by the duty of the tariff table.
3. Round half up to the cent.

| class | duty |
|---|---|
| letter | 0 % |
| parcel | 4 % |

## Refunds

- Refund in full when the parcel is lost.
- Refund half when it is late by more than five days.
- Run `scripts/refund.py` with the parcel number.

Thank you for reading this far.
"""

FILES = {
    "references/tariff.md": "# Tariff\n\nClass A costs 4.20, class B costs 7.90.\n",
    "scripts/refund.py": "def refund(value: float, late: int) -> float:\n    return value if late < 0 else value / 2\n",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything that a page is made of."""

    compiled: CompiledSkill
    valuation: Valuation
    records: tuple[ChainRecord, ...]
    rollouts: tuple[Rollout, ...]


def write_skill(folder: Path, text: str = SKILL, files: Mapping[str, str] = FILES) -> CompiledSkill:
    """Write the skill and compile it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    return compile_skill(folder)


def feasible_order(compiled: CompiledSkill, rng: np.random.Generator) -> tuple[str, ...]:
    """A random order in which every unit comes after the units it needs."""
    left, placed = [unit.id for unit in compiled.units], []
    while left:
        ready = [unit for unit in left if all(need in placed for need in compiled.needs[unit])]
        chosen = ready[int(rng.integers(len(ready)))]
        placed.append(chosen)
        left.remove(chosen)
    return tuple(placed)


def make_record(
    compiled: CompiledSkill,
    effects: Mapping[str, float],
    index: int,
    rng: np.random.Generator,
    *,
    window: int,
    cut: bool,
) -> ChainRecord:
    """One chain whose scores follow the effects, with noise; padding costs a little of what deletion gives."""
    order = feasible_order(compiled, rng)
    difficulty = rng.random(window)
    tasks = tuple(f"task-{int(number):03d}" for number in rng.choice(200, window, replace=False))

    def scores(units: frozenset[str], shift: float) -> tuple[float, ...]:
        chance = 0.25 + sum(effects[unit] for unit in units) + shift
        return tuple(
            float(0.15 * noise + 0.85 * draw < chance)
            for noise, draw in zip(rng.random(window), difficulty, strict=True)
        )

    stop = len(order) * 2 // 3 if cut else None
    full = scores(frozenset(order), 0.0)
    steps = []
    for operator in Operator:
        for position in range(1, (stop + 1) if stop else len(order)):
            kept = frozenset(order[: position + 1])
            last = position == len(order) - 1
            got = full if last else scores(kept, 0.03 if operator is Operator.PAD else 0.0)
            tree = "tree-full" if last else f"tree-{index}-{operator}-{position}"
            steps.append(ChainStep(operator=operator, position=position, unit=order[position], scores=got, tree=tree))
    plan = ChainPlan(
        index=index, order=order, window=TaskWindow(tasks=tasks), operators=tuple(Operator), tolerance=0.05
    )
    trigger = scores(frozenset(order[:1]), 0.0)
    return ChainRecord(
        plan=plan,
        empty=scores(frozenset(), 0.0),
        trigger=(trigger, scores(frozenset(order[:1]), 0.03)),
        full=full,
        steps=tuple(steps),
        truncated_at=stop,
    )


def around(value: float, half: float) -> Interval:
    """A value with a symmetric interval."""
    return Interval(round(value, 4), round(value - half, 4), round(value + half, 4))


def unit_value(unit: str, effect: float, half: float) -> UnitValue:
    """A value whose content and net differ by a small cost."""
    cost = 0.004 + abs(effect) / 6
    covers = abs(effect) <= half
    evidence = Evidence.UNRESOLVED if covers and half > 0.02 else Evidence.NEGLIGIBLE if covers else Evidence.POSITIVE
    if effect < -half:
        evidence = Evidence.NEGATIVE
    return UnitValue(
        id=unit,
        net=around(effect, half),
        content=around(effect + cost, half * 1.1),
        cost=around(cost, half / 2),
        plain=around(effect, half * 0.8),
        samples=12,
        standard_error=half / 2,
        evidence=evidence,
    )


def verdict(value: UnitValue) -> Verdict:
    """A verdict that fits the evidence."""
    action, reason = {
        Evidence.POSITIVE: (Action.KEEP, "Its interval lies above zero."),
        Evidence.NEGATIVE: (Action.HARMFUL, "Its interval lies below zero: the skill is better without it."),
        Evidence.NEGLIGIBLE: (Action.DELETE, "Its whole interval lies within the resolution."),
        Evidence.UNRESOLVED: (Action.UNRESOLVED, "Its interval covers zero and reaches beyond the resolution."),
        Evidence.IDENTICAL: (Action.DELETE, "With or without it, the same bytes."),
    }[value.evidence]
    if action is Action.KEEP and value.net.value < 0.05:
        action, reason = Action.COMPRESS, "It helps, but its length costs half of its content value."
    return Verdict(unit=value.id, action=action, reason=reason)


def unit_report(compiled: CompiledSkill, unit_id: str, value: UnitValue) -> UnitReport:
    """The row of a unit, text included."""
    unit = compiled.unit[unit_id]
    data = compiled.skill.file(unit.file).data or b""
    text = data[unit.span.start : unit.span.end].decode("utf-8", errors="replace")
    return UnitReport(
        id=unit_id, kind=unit.kind, file=unit.file, span=unit.span, lines=unit.lines, section=unit.section,
        tokens=max(1, len(text) // 4), needs=compiled.needs[unit_id], text=text, value=value, verdict=verdict(value),
        form=unit.form,
    )  # fmt: skip


def make_valuation(compiled: CompiledSkill, effects: Mapping[str, float], halves: Mapping[str, float]) -> Valuation:
    """The valuation for known effects."""
    values = [unit_value(unit, effects[unit], halves[unit]) for unit in compiled.execution]
    reports = [unit_report(compiled, value.id, value) for value in values]
    trigger = unit_report(
        compiled, compiled.trigger, UnitValue(id=compiled.trigger, net=around(effects[compiled.trigger], 0.02))
    )
    total = sum(effects[unit] for unit in compiled.execution)
    sections = sorted({unit.section for unit in reports})
    base = 0.25 + effects[compiled.trigger]
    estimate = Estimate(
        method="chain",
        anchors=Anchors(empty=around(0.25, 0.06), trigger=around(base, 0.06), full=around(base + total, 0.05)),
        trigger_value=around(effects[compiled.trigger], 0.03),
        content_lift=around(total, 0.07),
        closure=Closure(sum=around(total - 0.004, 0.08), lift=around(total, 0.07), ratio=0.99, covered=True),
        units=tuple(values),
        sections=tuple(
            SectionValue(path=path, net=around(sum(u.value.net.value for u in reports if u.section == path), 0.1))
            for path in sections
        ),
        chains=12,
        truncation_share=0.69,
        resolution=0.02,
    )
    return Valuation(
        skill={"name": compiled.skill.name, "digest": compiled.digest},
        settings={"orders": 12, "window": 8, "operators": ["delete", "pad"]},
        estimate=estimate,
        units=(trigger, *reports),
        rollouts=Spending(spent=2304, reused=310, failed=2, forecast=2600),
        usage=Usage(input_tokens=1_843_200, output_tokens=92_160, usd=3.18),
        notes=("2 rollouts failed for good and were left out of their pairs.",),
    )


def make_case(
    folder: Path, *, text: str = SKILL, files: Mapping[str, str] = FILES, chains: int = 12, window: int = 8
) -> Case:
    """A skill, invented effects for its units, and everything a report is made of. The same text makes the same case."""
    compiled = write_skill(folder, text, files)
    rng = np.random.default_rng(20)
    shapes = (0.14, 0.004, 0.09, -0.11, 0.03, 0.06, 0.012, 0.002, 0.05, 0.028, 0.08, -0.004)
    scale = min(1.0, 16 / len(compiled.units))
    effects = {unit.id: shapes[index % len(shapes)] * scale for index, unit in enumerate(compiled.units)}
    halves = {unit.id: (0.015, 0.05, 0.012)[index % 3] * scale for index, unit in enumerate(compiled.units)}
    effects[compiled.trigger] = 0.01
    records = tuple(
        make_record(compiled, effects, index, rng, window=window, cut=index % 3 == 0) for index in range(chains)
    )
    rollouts = tuple(
        Rollout(
            key=RolloutKey(tree=step.tree, task=task, agent="made-up"),
            task_id=task,
            score=score,
            answer=f"The answer to {task} with {step.position} units.",
        )
        for record in records[:2]
        for step in record.steps
        for task, score in zip(record.plan.window.tasks, step.scores, strict=True)
    )
    return Case(
        compiled=compiled, valuation=make_valuation(compiled, effects, halves), records=records, rollouts=rollouts
    )


def long_skill(units: int) -> str:
    """A skill of that many items in sections of twenty."""
    lines = ["---", "name: long-skill", "description: A long one.", "---", ""]
    for index in range(units):
        if index % 20 == 0:
            lines += ["", f"## Section {index // 20 + 1}", ""]
        lines.append(
            f"- Rule {index}: when case {index} comes in, answer with the code {index * 7 % 101} and explain it briefly."
        )
    return "\n".join(lines) + "\n"


TEA_TEXT = b"---\nname: tea\n---\n# Tea\n- Boil \x1b[31mwater\n- Pour\n- Drink it while it is hot\n"


def tea_unit(name, kind, start, end, first, last, *more, form="", section=(), members=(), flags=(), file="SKILL.md"):
    here = Extent(file=file, span=Span(start, end), lines=Lines(first, last))
    return Unit(id=name, kind=kind, form=form, extents=(here, *more), section=section, members=members, flags=flags)


def tea_skill(**changes: object) -> CompiledSkill:
    """A small compiled skill with one of each: composite, contraction, repair, finding."""
    notes = SkillFile(path="notes/heat.md", role=FileRole.RESOURCE, data=b"x" * 17_600, size=17_600, digest="d2")
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEA_TEXT, size=len(TEA_TEXT), digest="d1")
    second = Extent(file="SKILL.md", span=Span(42, 49), lines=Lines(6, 6))
    edge = Edge(
        rule="R8",
        source="a",
        target="b",
        evidence="marker “-”",
        at=Location(file="SKILL.md", line=5),
        target_at=Location(file="SKILL.md", line=6),
    )
    base = {
        "skill": Skill(name="tea", root=Path("tea"), main="SKILL.md", files=(main, notes)),
        "options": {
            "granularity": "block",
            "without": ["R3"],
            "include": [],
            "markers": [["<!-- A -->", "<!-- B -->"]],
        },
        "trigger": "m",
        "units": (
            tea_unit("m", UnitKind.TRIGGER, 0, 18, 1, 3, form="frontmatter"),
            tea_unit(
                "c", UnitKind.COMPOSITE, 24, 42, 5, 5, second, form="composite", section=("Tea",), members=("a", "b")
            ),
            tea_unit("d", UnitKind.ITEM, 49, 76, 7, 7, form="bullet", section=("Tea",), flags=("odd",)),
            tea_unit("notes/heat.md", UnitKind.RESOURCE, 0, 17_600, 1, 1, form="markdown", file="notes/heat.md"),
        ),
        "edges": (
            Edge(rule="R6", source="c", target="m", evidence="every unit needs the trigger"),
            Edge(rule="R6", source="d", target="m", evidence="every unit needs the trigger"),
            Edge(rule="R9", source="d", target="c", evidence="lead-in", at=Location(file="SKILL.md", line=7)),
        ),
        "hierarchy": Block("tea", (Leaf("m"), Block("Tea", (Leaf("c"), Leaf("d"))), Leaf("notes/heat.md"))),
        "sections": (),
        "layouts": (),
        "contractions": (Contraction(unit="c", members=("a", "b"), rules=("R3", "R8"), edges=(edge,)),),
        "repairs": (Repair(node="tea", expanded="Tea", cycle=("Tea", "notes"), rules=("R3",)),),
        "findings": (Finding(code="nul", severity=Severity.WARNING, message="Byte 4.", file="SKILL.md", line=2),),
        "digest": "0123456789abcdef0123",
    }
    return CompiledSkill(**{**base, **changes})


@pytest.fixture
def tea() -> Callable[..., CompiledSkill]:
    """Make a small compiled skill; keyword arguments replace its fields."""
    return tea_skill


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return make_case(tmp_path_factory.mktemp("skills") / "parcel-desk")


@pytest.fixture(scope="session")
def make_long_case() -> Callable[[Path, int], Case]:
    """Make a case of so many units, with two short chains."""
    return lambda folder, units: make_case(folder, text=long_skill(units), files={}, chains=2, window=2)


@pytest.fixture
def case_of(tmp_path: Path) -> Callable[..., Case]:
    """Make a case from another text."""
    return lambda **options: make_case(tmp_path / "skill", **options)


@pytest.fixture
def one_operator(case: Case) -> Case:
    """The same case where only deletion was run."""
    units = tuple(replace(unit, value=replace(unit.value, content=None, cost=None)) for unit in case.valuation.units)
    return replace(case, valuation=replace(case.valuation, units=units))


@pytest.fixture(scope="session")
def early(case) -> Valuation:
    """A valuation after so few rollouts that no unit has a value."""
    unknown = Interval(float("nan"), -0.95, 0.98)
    units = tuple(
        replace(
            unit,
            value=UnitValue(id=unit.id, net=unknown),
            verdict=Verdict(unit=unit.id, action=Action.UNRESOLVED, reason="Too early"),
        )
        for unit in case.valuation.units
    )
    closure = Closure(sum=Interval(0.0, -0.1, 0.1), lift=Interval(0.89, 0.8, 0.95), ratio=0.0, covered=False)
    estimate = replace(case.valuation.estimate, closure=closure, units=tuple(unit.value for unit in units))
    return replace(case.valuation, estimate=estimate, units=units, provisional=True, next_budget=582)
