"""Makes compiled skills: a nested tuple of unit names is the hierarchy, pairs of names are `needs` edges."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

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


def _tree(shape, name="root"):
    if isinstance(shape, str):
        return Leaf(shape)
    return Block(name, tuple(_tree(child, f"{name}/{number}") for number, child in enumerate(shape)))


def _names(shape):
    return [shape] if isinstance(shape, str) else [name for child in shape for name in _names(child)]


def build(shape, needs=()):
    names = _names(shape)
    extent = Extent(file="SKILL.md", span=Span(0, 0), lines=Lines(1, 1))
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=b"", size=0, digest="")
    return CompiledSkill(
        skill=Skill(name="toy", root=Path("toy"), main="SKILL.md", files=(main,)),
        options={},
        trigger=names[0],
        units=tuple(Unit(id=name, kind=UnitKind.ITEM, form="bullet", extents=(extent,)) for name in names),
        edges=tuple(Edge(rule="R0", source=source, target=target, evidence="") for source, target in needs),
        hierarchy=_tree(shape),
        sections=(),
        layouts=(),
    )


def with_trigger(shape, needs=()):
    """The same with a trigger m that every unit needs, as the compiler makes it."""
    return build(("m", *shape), [*needs, *((name, "m") for name in _names(shape))])


def random_structure(rng: np.random.Generator, most=7):
    """A random tree over a few units, with random dependencies that admit at least one feasible order."""
    names = [f"u{number}" for number in range(int(rng.integers(1, most + 1)))]
    needs = [(b, a) for i, a in enumerate(names) for b in names[i + 1 :] if rng.random() < 0.25]
    return with_trigger(_random_tree(rng, names), needs)


def _random_tree(rng, names):
    """Blocks are contiguous runs of the names, so that the order of the names is feasible."""
    if len(names) <= 1 or rng.random() < 0.3:
        return tuple(names)
    cuts = sorted({0, len(names), *rng.integers(1, len(names), size=int(rng.integers(1, 4))).tolist()})
    parts = [names[start:end] for start, end in pairwise(cuts)]
    return tuple(part[0] if len(part) == 1 else _random_tree(rng, part) for part in parts)


@pytest.fixture(scope="session")
def structure():
    return build


@pytest.fixture(scope="session")
def triggered():
    return with_trigger


@pytest.fixture(scope="session")
def random_skill():
    return random_structure
