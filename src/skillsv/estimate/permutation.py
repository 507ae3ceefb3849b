"""The same estimator for a game that can simply be computed: all prefixes of many orders at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from skillsv.estimate.marginals import Floats

KnownGame = Callable[[npt.NDArray[np.bool_]], Floats]
"""Values of coalitions: rows of booleans in, one number each out."""

_ROWS_AT_ONCE = 1 << 16


def permutation_values(orders: npt.NDArray[np.int64], game: KnownGame) -> Floats:
    """Values (phi hat) from orders [K, n] of players 0..n-1: the mean marginal along each order's n + 1 prefixes."""
    count, players = orders.shape
    ranks = np.empty_like(orders)
    np.put_along_axis(ranks, orders, np.broadcast_to(np.arange(players), orders.shape), axis=1)
    steps = np.arange(players + 1)[:, None]
    total = np.zeros(players)
    stride = max(1, _ROWS_AT_ONCE // (players + 1))
    for start in range(0, count, stride):
        some = ranks[start : start + stride]
        prefixes = some[:, None, :] < steps
        values = game(prefixes.reshape(-1, players)).reshape(len(some), players + 1)
        total += np.take_along_axis(np.diff(values, axis=1), some, axis=1).sum(axis=0)
    mean: Floats = total / count
    return mean
