"""What units of a noisy agent may do: nothing at all, or some mean effect on some share of the tasks.

Half of the units of a skill change nothing, and a few change much. One normal distribution for all of them pulls the
large effects to zero. Here a unit is *dead*, or it belongs to one of a few groups: a size and sign of its mean weight,
and its *reach*, the share of the tasks that it acts on. How many units belong to each group is learnt from the scores:
the shares are drawn anew, given the groups of all units, in every sweep of the sampler (`weight_sampler.py`).
"""

from __future__ import annotations

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers

SIZES = np.geomspace(0.2, 5.0, 7)
"""Mean weights of a unit on the tasks that it acts on, in logits: from hardly seen to nearly certain."""

REACHES = np.array([0.1, 0.35, 0.9])
"""Shares of the tasks that a unit may act on."""

MEANS = np.concatenate([-SIZES[::-1], SIZES])
"""Mean weights with their signs."""

GROUPS = len(MEANS) * len(REACHES)
"""Number of groups of units with an effect; a dead unit has this number as its group."""

USUAL_LOG_SIZES = np.linspace(np.log(0.15), np.log(5.0), 8)
"""Means of the log size that the prior distribution of sizes may have."""

LOG_SIZE_SPREADS = np.array([0.3, 0.5, 0.8, 1.2])
"""Standard deviations of the log size that the prior distribution of sizes may have."""

HARM_COUNTS = (0.5, 1.5)
"""Beta distribution of the share of harmful units among those with an effect: harms are the rarer ones."""

TRUST = np.array([0.0, 0.5, 1.0, 2.0, 3.0])
"""How much the values for other agents may count, in logits per standard deviation of these values."""

LEAST_SHARE = 1e-3
"""Smallest share of a group: a group that no unit is in at the moment must stay possible."""

TINY = 1e-12
"""A length that counts as zero; it keeps the division finite."""


def _size_tables() -> Floats:
    """Shares of all sizes for each mean and spread of the log size [distributions, sizes]."""
    apart = (np.log(SIZES) - USUAL_LOG_SIZES[:, None, None]) / LOG_SIZE_SPREADS[None, :, None]
    shares = np.exp(-0.5 * apart**2)
    tables: Floats = (shares / shares.sum(axis=2, keepdims=True)).reshape(-1, len(SIZES))
    return tables


_LOG_SIZE_TABLES = np.log(np.maximum(_size_tables(), 1e-300))


class UnitGroups:
    """The shares of the groups, in several chains side by side.

    `prior` holds the values of the units for other agents, a row each. A unit with a large value there is less likely
    dead here, and likely has the same sign. The scores decide how much this counts, which may be nothing.
    """

    def __init__(self, chains: int, units: int, prior: Floats | None = None) -> None:
        self._live = np.full(chains, 0.5)
        self._harmful = np.full(chains, 0.2)
        self._sizes = np.full((chains, len(SIZES)), 1.0 / len(SIZES))
        self._reaches = np.full((chains, len(REACHES)), 1.0 / len(REACHES))
        self._trust = np.zeros(chains)
        self._opinion = np.zeros(units) if prior is None else _opinion(prior)
        self._has_opinion = prior is not None

    def log_prior(self) -> Floats:
        """The logarithm of the chance of each group, dead last, for all units [chains, units, groups + 1]."""
        sizes, reaches = np.log(self._sizes), np.log(self._reaches)
        live, harmful = self._log_odds()
        within = (
            np.concatenate([sizes[:, ::-1], sizes], axis=1)[:, :, None] + reaches[:, None, :]
        )  # [chains, means, reaches]
        sign = np.concatenate(
            [np.repeat(_log_chance(part)[:, :, None], len(SIZES), axis=2) for part in (harmful, -harmful)], axis=2
        )  # [chains, units, means]
        groups = sign[:, :, :, None] + within[:, None, :, :] + _log_chance(live)[:, :, None, None]
        chains, units = live.shape
        joined: Floats = np.concatenate([groups.reshape(chains, units, GROUPS), _log_chance(-live)[:, :, None]], axis=2)
        return joined

    def _log_odds(self) -> tuple[Floats, Floats]:
        """The log odds of being live, and of being harmful if live [chains, units]."""
        expected = np.abs(self._opinion) - np.abs(self._opinion).mean() if self._has_opinion else self._opinion
        live = _logit(self._live)[:, None] + self._trust[:, None] * expected
        harmful = _logit(self._harmful)[:, None] - self._trust[:, None] * self._opinion
        return live, harmful

    def redraw(self, group: Numbers, rng: np.random.Generator) -> None:
        """Draw the shares anew, given the group of each unit [chains, units]."""
        live = group < GROUPS
        mean, reach = np.divmod(np.where(live, group, 0), len(REACHES))
        size = np.where(mean >= len(SIZES), mean - len(SIZES), len(SIZES) - 1 - mean)
        harmful = live & (mean < len(SIZES))
        units, alive, harms = live.shape[1], live.sum(axis=1), harmful.sum(axis=1)
        self._live = _bounded(rng.beta(1.0 + alive, 1.0 + units - alive))
        self._harmful = _bounded(rng.beta(HARM_COUNTS[0] + harms, HARM_COUNTS[1] + alive - harms))
        for chain in range(len(group)):
            sizes = np.bincount(size[chain][live[chain]], minlength=len(SIZES))
            table = _pick(_LOG_SIZE_TABLES @ sizes, rng)
            self._sizes[chain] = np.exp(_LOG_SIZE_TABLES[table])
            counts = np.bincount(reach[chain][live[chain]], minlength=len(REACHES))
            self._reaches[chain] = _bounded(rng.dirichlet(1.0 + counts))
        if self._has_opinion:
            self._redraw_trust(live, harmful, rng)

    def _redraw_trust(self, live: Bools, harmful: Bools, rng: np.random.Generator) -> None:
        """Draw how much the values for other agents count, given which units are live and which are harmful."""
        fit = np.empty((len(self._trust), len(TRUST)))
        for place, trust in enumerate(TRUST):
            self._trust[:] = trust
            odds_live, odds_harmful = self._log_odds()
            signs = np.where(live, _log_chance(np.where(harmful, odds_harmful, -odds_harmful)), 0.0)
            fit[:, place] = (_log_chance(np.where(live, odds_live, -odds_live)) + signs).sum(axis=1)
        self._trust = np.array([TRUST[_pick(row, rng)] for row in fit])


def _opinion(prior: Floats) -> Floats:
    """The mean of the other agents' values, each with mean square 1."""
    sizes = np.sqrt((prior**2).mean(axis=1, keepdims=True))
    mean: Floats = (prior / np.maximum(sizes, TINY)).mean(axis=0)
    return mean


def _pick(log_chances: Floats, rng: np.random.Generator) -> int:
    chances = np.exp(log_chances - log_chances.max())
    return int(rng.choice(len(chances), p=chances / chances.sum()))


def _bounded(shares: Floats) -> Floats:
    bounded: Floats = np.clip(shares, LEAST_SHARE, 1.0 - LEAST_SHARE)
    return bounded


def _logit(share: Floats) -> Floats:
    odds: Floats = np.log(share / (1.0 - share))
    return odds


def _log_chance(log_odds: Floats) -> Floats:
    chance: Floats = -np.logaddexp(0.0, -log_odds)
    return chance
