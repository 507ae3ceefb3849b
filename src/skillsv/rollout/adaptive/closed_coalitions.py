"""Dependency-closed coalitions as bit masks: random ones, and the ones along a path between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skillsv.model.task_table import Mask


def needed_masks(units: Sequence[str], needs: Mapping[str, tuple[str, ...]]) -> list[Mask]:
    """For each unit the mask of itself and of all units it needs, directly or through others."""
    number = {unit: place for place, unit in enumerate(units)}
    masks: list[Mask] = []
    for unit in units:
        pending, closure = [unit], {unit}
        while pending:
            for needed in needs.get(pending.pop(), ()):
                if needed in number and needed not in closure:
                    closure.add(needed)
                    pending.append(needed)
        masks.append(sum(1 << number[member] for member in closure))
    return masks


def draw_closed(needed: Sequence[Mask], rng: np.random.Generator) -> Mask:
    """Draw a random closed coalition.

    Each unit is chosen with probability 1/2. Then, with probability 1/2 each, either all that the chosen units need is
    added, or the chosen units that lack a needed unit are dropped.
    """
    coins = rng.random(len(needed) + 1) < 0.5
    chosen = np.flatnonzero(coins[:-1]).tolist()
    mask = 0
    if coins[-1]:
        for unit in chosen:
            mask |= needed[unit]
        return mask
    chosen_mask = sum(1 << unit for unit in chosen)
    for unit in chosen:
        if needed[unit] & ~chosen_mask == 0:
            mask |= 1 << unit
    return mask


def path_between(start: Mask, end: Mask, order: Sequence[int]) -> list[Mask]:
    """Closed coalitions from `start` down to the intersection of both, then up to `end`, one unit at a time.

    `order` is a feasible order of all units. Every coalition on the path is closed: it is the union of the closed
    intersection and a closed coalition cut off along a feasible order.
    """
    common = start & end
    removed = [unit for unit in order if (start & ~common) >> unit & 1]
    added = [unit for unit in order if (end & ~common) >> unit & 1]
    path, mask = [start], start
    for unit in [*reversed(removed), *added]:
        mask ^= 1 << unit
        path.append(mask)
    return path
