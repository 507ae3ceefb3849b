"""A flat skill of a few units, and chains along random orders of any game on it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Operator, Order, Scores
from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Edge,
    Extent,
    Layout,
    Leaf,
    Lines,
    Piece,
    PieceRole,
    Section,
    Skill,
    Span,
    Unit,
    UnitKind,
)
from skillsv.model.task import TaskWindow

Game = Callable[[frozenset[str], str, Operator], float | None]


def flat_skill(names: tuple[str, ...], needs: tuple[tuple[str, str], ...] = ()) -> CompiledSkill:
    """Units in two sections (first half, second half), all of which need the trigger m."""
    ids = ("m", *names)
    place = {unit: index for index, unit in enumerate(ids)}
    half = (len(names) + 1) // 2
    units = tuple(
        Unit(
            id=unit,
            kind=UnitKind.ITEM if index else UnitKind.TRIGGER,
            form="bullet",
            extents=(Extent(file="SKILL.md", span=Span(index, index + 1), lines=Lines(index + 1, index + 1)),),
        )
        for unit, index in place.items()
    )
    pieces = tuple(
        Piece(
            role=PieceRole.UNIT, span=Span(index, index + 1), section=0 if not index else 1 + (index > half), unit=unit
        )
        for unit, index in place.items()
    )
    edges = [Edge(rule="R6", source=unit, target="m", evidence="") for unit in names]
    edges += [Edge(rule="R1", source=source, target=target, evidence="") for source, target in needs]
    sections = [Section(title="", path=(), file=None, level=0, parent=None)]
    sections += [Section(title=name, path=(name,), file="SKILL.md", level=1, parent=0) for name in ("One", "Two")]
    return CompiledSkill(
        skill=Skill(name="flat", root=Path("flat"), main="SKILL.md", files=()),
        options={},
        trigger="m",
        units=units,
        edges=tuple(edges),
        hierarchy=Block("root", tuple(Leaf(unit) for unit in ids)),
        sections=tuple(sections),
        layouts=(Layout(file="SKILL.md", pieces=pieces),),
    )


def run_chain(
    index: int,
    order: Order,
    tasks: tuple[str, ...],
    game: Game,
    operators: tuple[Operator, ...] = (Operator.DELETE,),
    truncated_at: int | None = None,
) -> ChainRecord:
    """What a finished chain of this game looks like."""

    def scores(prefix: int, operator: Operator) -> Scores:
        return tuple(game(frozenset(order[:prefix]), task, operator) for task in tasks)

    last = len(order) - 1 if truncated_at is None else truncated_at
    return ChainRecord(
        plan=ChainPlan(index=index, order=order, window=TaskWindow(tasks=tasks), operators=operators, tolerance=None),
        empty=scores(0, Operator.DELETE),
        trigger=tuple(scores(1, operator) for operator in operators),
        full=scores(len(order), Operator.DELETE),
        steps=tuple(
            ChainStep(operator=operator, position=place, unit=order[place], scores=scores(place + 1, operator))
            for place in range(1, last + 1)
            for operator in operators
        ),
        truncated_at=truncated_at,
    )


def shuffled(compiled: CompiledSkill, rng: np.random.Generator) -> Order:
    return (compiled.trigger, *(str(unit) for unit in rng.permutation(compiled.execution)))


@pytest.fixture
def make_skill():
    return flat_skill


@pytest.fixture
def make_chain():
    return run_chain


@pytest.fixture
def make_order():
    return shuffled
