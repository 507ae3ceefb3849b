"""Random ranking: what any method must beat."""

from __future__ import annotations

import numpy as np

from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval, Ranking


def random_ranking(compiled: CompiledSkill, rng: np.random.Generator) -> Ranking:
    """A uniform number for every execution unit; the generator's seed makes it repeatable."""
    draws = rng.random(len(compiled.execution)).tolist()
    values = {unit: Interval(draw, draw, draw) for unit, draw in zip(compiled.execution, draws, strict=True)}
    return Ranking(method="random", values=values, notes=("Random numbers: they say nothing about the units.",))
