"""Luck that chains share: a prompt that several chains ask about is run once, so its noise does not average out.

The ledger never pays twice for the same (skill tree, task, replicate). For a deterministic agent that is free.
For a noisy one the full skill's answers, say, are one draw that enters every chain, and the spread between chains does
not show it. Its size can be told from the chains themselves: along a chain independent noise makes neighbouring
differences pull back, E[d_j d_(j+1)] = -sigma^2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from skillsv.estimate.marginals import ladder
from skillsv.model.coalition import ChainRecord, Operator
from skillsv.model.skill import CompiledSkill

Prompt = tuple[int, int]


class SharedNoise:
    """How often chains meet at the same prompts, and the noise of one score under one operator."""

    def __init__(self, compiled: CompiledSkill, records: Sequence[ChainRecord], operator: Operator) -> None:
        self._records = records
        self._answers = sum(len(record.plan.window.tasks) for record in records)
        self.noise = noise_variance(records, operator)
        column = {unit: place for place, unit in enumerate(compiled.execution)}
        self._seats = np.array([[column[unit] for unit in record.plan.order[1:]] for record in records], dtype=np.intp)
        self._prefixes: list[list[int]] = []
        for seats in self._seats.tolist():
            self._prefixes.append(list(accumulate((1 << seat for seat in seats), int.__or__, initial=0)))
        lengths = [len(column) if record.truncated_at is None else record.truncated_at for record in records]
        self._evaluated = np.arange(self._seats.shape[1]) < np.array(lengths)[:, None]

    def variance(self, members: npt.NDArray[np.bool_]) -> float:
        """The variance that the sum of these units' values carries beyond the spread between chains."""
        if self.noise <= 0 or not members.any():
            return 0.0
        inside = members[self._seats] & self._evaluated
        edges = np.diff(inside.astype(np.int8), axis=1, prepend=0, append=0)
        meetings: dict[Prompt, list[ChainRecord]] = {}
        for row, place in zip(*np.nonzero(edges), strict=True):
            prompt = (int(edges[row, place]), self._prefixes[row][place])
            meetings.setdefault(prompt, []).append(self._records[row])
        repeats = sum(_coincidences(group) for group in meetings.values() if len(group) > 1)
        return self.noise * repeats / self._answers**2

    def per_unit(self) -> npt.NDArray[np.float64]:
        """The variance for each unit alone, in one pass over all steps."""
        repeats = np.zeros(self._seats.shape[1])
        if self.noise <= 0:
            return repeats
        meetings: dict[tuple[int, int], list[ChainRecord]] = {}
        for record, seats, prefixes, length in zip(
            self._records, self._seats.tolist(), self._prefixes, self._evaluated.sum(axis=1).tolist(), strict=True
        ):
            for place, seat in enumerate(seats[:length]):
                # The prefix holds the unit or not, so the two sides of its step never share a key.
                meetings.setdefault((seat, prefixes[place]), []).append(record)
                meetings.setdefault((seat, prefixes[place + 1]), []).append(record)
        for (seat, _), group in meetings.items():
            if len(group) > 1:
                repeats[seat] += _coincidences(group)
        variance: npt.NDArray[np.float64] = self.noise * repeats / self._answers**2
        return variance

    def of_anchors(self) -> float:
        """The variance for the mean score of one anchor, which every chain asks about."""
        return self.noise * _coincidences(self._records) / self._answers**2


def _coincidences(records: Sequence[ChainRecord]) -> int:
    """Ordered pairs of chains that score the same task (and replicate): sum of m (m - 1)."""
    asked = Counter((task, record.plan.replicate) for record in records for task in record.plan.window.tasks)
    return sum(times * (times - 1) for times in asked.values())


def noise_variance(records: Sequence[ChainRecord], operator: Operator) -> float:
    """sigma^2 of one score, from neighbouring differences along the chains; zero for a deterministic agent.

    A unit that really helps followed at once by one that really hurts looks like noise, but that is rare.
    """
    total, count = 0.0, 0
    for record in records:
        steps = np.diff(ladder(record, operator), axis=0)
        products = steps[1:] * steps[:-1]
        known = ~np.isnan(products)
        total -= float(products[known].sum())
        count += int(known.sum())
    return max(0.0, total / count) if count else 0.0
