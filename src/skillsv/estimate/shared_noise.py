"""Noise that chains share: a prompt that several chains use is run once, so its noise does not average out.

The ledger never pays twice for the same (rendering, task, replicate). A deterministic agent has no noise to share. For
a noisy agent the answers to the full skill, for example, are one random draw that enters every chain, and the variance
between chains does not contain it. The chains themselves show the size of the noise: independent noise makes
neighbouring differences d_j, d_(j+1) along a chain negatively correlated, E[d_j d_(j+1)] = -sigma^2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from skillsv.estimate.marginals import prefix_scores
from skillsv.model.coalition import ChainRecord, Operator
from skillsv.model.skill import CompiledSkill

Prompt = tuple[int, int]
"""The sign of a prefix in a sum (or the column of a unit), and the prefix as bits."""


class SharedNoise:
    """The variance that prompts shared by chains add to means over chains, under one operator.

    `noise` is the variance sigma^2 of one score.
    """

    def __init__(self, compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator) -> None:
        self._records = records
        self._answers = sum(len(record.plan.window.tasks) for record in records)
        self.noise = noise_variance(records, operator)
        column = {unit: place for place, unit in enumerate(compiled.execution)}
        self._columns = np.array(
            [[column[unit] for unit in record.plan.order[1:]] for record in records], dtype=np.intp
        )
        self._prefixes: list[list[int]] = []
        for columns in self._columns.tolist():
            self._prefixes.append(list(accumulate((1 << column for column in columns), int.__or__, initial=0)))
        lengths = [len(column) if record.truncated_at is None else record.truncated_at for record in records]
        self._evaluated = np.arange(self._columns.shape[1]) < np.array(lengths)[:, None]

    def sum_variance(self, members: npt.NDArray[np.bool_]) -> float:
        """The extra variance of the sum of these units' values."""
        if self.noise <= 0 or not members.any():
            return 0.0
        inside = members[self._columns] & self._evaluated
        edges = np.diff(inside.astype(np.int8), axis=1, prepend=0, append=0)
        users: dict[Prompt, list[ChainRecord]] = {}
        for row, place in zip(*np.nonzero(edges), strict=True):
            prompt = (int(edges[row, place]), self._prefixes[row][place])
            users.setdefault(prompt, []).append(self._records[row])
        repeats = sum(_shared_answers(group) for group in users.values() if len(group) > 1)
        return self.noise * repeats / self._answers**2

    def unit_variances(self) -> npt.NDArray[np.float64]:
        """The extra variance of each unit's value, in one pass over all steps."""
        repeats = np.zeros(self._columns.shape[1])
        if self.noise <= 0:
            return repeats
        users: dict[Prompt, list[ChainRecord]] = {}
        for record, columns, prefixes, length in zip(
            self._records, self._columns.tolist(), self._prefixes, self._evaluated.sum(axis=1).tolist(), strict=True
        ):
            for place, column in enumerate(columns[:length]):
                # One prefix holds the unit and the other does not, so the two sides of a step never have the same key.
                users.setdefault((column, prefixes[place]), []).append(record)
                users.setdefault((column, prefixes[place + 1]), []).append(record)
        for (column, _), group in users.items():
            if len(group) > 1:
                repeats[column] += _shared_answers(group)
        variance: npt.NDArray[np.float64] = self.noise * repeats / self._answers**2
        return variance

    def anchor_variance(self) -> float:
        """The extra variance of the mean score of one anchor, which every chain uses."""
        return self.noise * _shared_answers(self._records) / self._answers**2


def _shared_answers(records: Sequence[ChainRecord]) -> int:
    """The number of ordered pairs of chains with the same task and replicate: the sum of m (m - 1)."""
    asked = Counter((task, record.plan.replicate) for record in records for task in record.plan.window.tasks)
    return sum(times * (times - 1) for times in asked.values())


def noise_variance(records: Sequence[ChainRecord], operator: Operator) -> float:
    """sigma^2 of one score, from neighbouring differences along the chains; zero for a deterministic agent.

    A helpful unit directly before a harmful one looks like noise, but such neighbours are rare.
    """
    total, count = 0.0, 0
    for record in records:
        steps = np.diff(prefix_scores(record, operator), axis=0)
        products = steps[1:] * steps[:-1]
        known = ~np.isnan(products)
        total -= float(products[known].sum())
        count += int(known.sum())
    return max(0.0, total / count) if count else 0.0
