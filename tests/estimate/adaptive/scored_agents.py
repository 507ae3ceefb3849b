"""Steady agents as the scores that they have on some coalitions of each task."""

import numpy as np

from skillsv.estimate.adaptive.earlier_comparison import compare_with_earlier
from skillsv.estimate.adaptive.observations import ScoredCoalitions

UNITS, TASKS = 6, 8


def scored(decide, masks=range(1 << UNITS)):
    """The scores of an agent whose answer on each task is that of `decide(task, mask)`."""
    rows = [(task, mask, decide(task, mask)) for task in range(TASKS) for mask in masks]
    present = np.array([[mask >> unit & 1 for unit in range(UNITS)] for _, mask, _ in rows], dtype=np.bool_)
    return ScoredCoalitions(
        present=present,
        task=np.array([task for task, _, _ in rows]),
        score=np.array([float(score) for _, _, score in rows]),
    )


def needs(unit_of):
    return lambda task, mask: mask >> unit_of(task) & 1


FIRST = scored(needs(lambda task: task % 3))


def contradicted_by(own, earlier):
    return compare_with_earlier(own, earlier, TASKS).contradicted
