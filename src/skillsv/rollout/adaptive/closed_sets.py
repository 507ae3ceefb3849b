"""Random dependency-closed coalitions: the design for an agent whose answers are chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skillsv.rollout.adaptive.deciding import Mask


def needed_masks(units: Sequence[str], needs: Mapping[str, tuple[str, ...]]) -> list[Mask]:
    """For each unit the bits of itself and all it needs, directly or not."""
    number = {unit: place for place, unit in enumerate(units)}
    closed: dict[str, Mask] = {}
    for unit in units:
        todo, seen = [unit], {unit}
        while todo:
            for other in needs.get(todo.pop(), ()):
                if other in number and other not in seen:
                    seen.add(other)
                    todo.append(other)
        closed[unit] = sum(1 << number[other] for other in seen)
    return [closed[unit] for unit in units]


def draw_closed(needed: Sequence[Mask], rng: np.random.Generator) -> Mask:
    """Each unit by a fair coin; then, by another, take in what the chosen need, or drop those that lack something."""
    coins = rng.random(len(needed) + 1) < 0.5
    chosen = np.flatnonzero(coins[:-1]).tolist()
    mask = 0
    if coins[-1]:
        for unit in chosen:
            mask |= needed[unit]
        return mask
    kept = sum(1 << unit for unit in chosen)
    for unit in chosen:
        if needed[unit] & ~kept == 0:
            mask |= 1 << unit
    return mask
