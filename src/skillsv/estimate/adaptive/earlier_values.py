"""What a steady agent's values take from earlier agents on the tasks on which it contradicts all of them.

A later agent asks first for what the earlier agents' scores forecast (`rollout/adaptive/earlier_agents.py`). Where the
forecasts hold, its own scores say the same. Where they do not, its task has units of its own, which are searched with
few rollouts, while the earlier agents searched theirs for long. Most units are still worth about the same for both. So
on these tasks together a unit's value is drawn towards the earlier agents' value by as much as the units of this run
show that values agree. The constants were chosen by coverage and error on games of
`skillsv_bench/families/several_agents.py` with the seeds 1 to 16, none of which is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats, Numbers, ScoredCoalitions
from skillsv.estimate.adaptive.patterns import pattern_effects
from skillsv.estimate.adaptive.values import SMALLEST_ERROR, ValueDraws

SPREADS = {0.0125: 1.0, 0.025: 1.0, 0.05: 1.0, 0.1: 1.0, 0.2: 0.1, 1.0: 0.01}
"""How far a unit's mean value on these tasks may lie from an earlier agent's: standard deviations, each with its weight
before anything is seen. The largest is for a unit that does the opposite for this agent: its own scores then count."""

PRIOR_UNITS = 20.0
"""Weight, in units, of these weights against what the units of the run show; earlier agents are equally likely."""

ERROR_SHARE = 0.9
"""Share of a value's standard error that its error has on most units: errors are rare and large (`steady_values`)."""

MOST_OPEN = 0.25
"""Share of the contradicted tasks that may still be open, with a change that is not traced to a unit. Before that the
own values are shares of untraced changes, which say nothing about whom they follow."""

STEPS = 60
"""Steps of the weights' fit: they have settled by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierPull:
    """How far each unit's value moves towards the earlier agents', and what share of its standard error is left.

    It comes from the values under deletion and holds for both operators: what few rollouts missed was missed by both.
    """

    contradicted: Bools
    moved: Floats
    error_left: Floats

    def apply(self, own: ValueDraws) -> ValueDraws:
        """The values after the move; it is spread evenly over the contradicted tasks."""
        values = own.values + self.moved
        return replace(
            own,
            values=values,
            draws=values + self.error_left * (own.draws - own.values),
            task_values=own.task_values + np.outer(self.contradicted / self.contradicted.mean(), self.moved),
        )


def learn_pull(
    own: ValueDraws, contradicted: Bools, open_tasks: Bools, earlier: Sequence[ScoredCoalitions], place: Numbers
) -> EarlierPull | None:
    """What the earlier agents showed on the tasks on which a steady agent contradicts them all.

    None without such tasks, and while the run has not traced most of them to units of its own (`open_tasks`). The sum
    of all values stays: the anchors give it. A unit that changed no score of this agent stays, too: what others showed
    of it is no evidence for an effect here.
    """
    tasks, share = len(own.task_values), float(contradicted.mean())
    changed = np.asarray(own.task_values.any(axis=0), dtype=np.bool_)
    if not share or changed.sum() < 2 or open_tasks[contradicted].mean() > MOST_OPEN:
        return None
    error = own.standard_error[changed]
    mine = own.task_values[contradicted][:, changed].sum(axis=0) / tasks
    theirs = np.array([_values_on(agent, contradicted, place)[changed] for agent in earlier]) / tasks
    values, errors = _pull(mine, ERROR_SHARE * np.sqrt(share) * error, theirs, share)
    moved, error_left = np.zeros(len(changed)), np.ones(len(changed))
    moved[changed] = values - mine
    left = np.sqrt((errors / ERROR_SHARE) ** 2 + (1.0 - share) * error**2)
    error_left[changed] = left / np.maximum(error, SMALLEST_ERROR)
    return EarlierPull(contradicted=contradicted, moved=moved, error_left=error_left)


def _values_on(agent: ScoredCoalitions, chosen: Bools, place: Numbers) -> Floats:
    """The sum of an earlier agent's values over the chosen tasks, by its scores alone."""
    total: Floats = pattern_effects(agent.on_tasks(chosen), int(chosen.sum()), place).values.sum(axis=0)
    return total


def _pull(own: Floats, error: Floats, theirs: Floats, share: float) -> tuple[Floats, Floats]:
    """The own values combined with those of the earlier agents [agents, units], and their standard errors.

    The model is a mixture that all units share: each true value lies around one of the earlier agents' values, with one
    of `SPREADS`. How likely each of these is, is fitted to all units (expectation and maximization).
    """
    spread = share * np.tile(list(SPREADS), len(theirs))[:, None]
    expected = np.tile(list(SPREADS.values()), len(theirs)) / (sum(SPREADS.values()) * len(theirs))
    centre = np.repeat(theirs, len(SPREADS), axis=0)
    noise = np.maximum(error, SMALLEST_ERROR) ** 2
    variance = spread**2 + noise
    likelihood = -0.5 * ((own - centre) ** 2 / variance + np.log(variance))
    weights = expected
    for _ in range(STEPS):
        chance = _normalized(likelihood, weights)
        weights = (chance.sum(axis=1) + PRIOR_UNITS * expected) / (len(own) + PRIOR_UNITS)
    chance = _normalized(likelihood, weights)
    gain = spread**2 / variance
    means = centre + gain * (own - centre)
    values = (chance * means).sum(axis=0)
    squares = (chance * (gain * noise + (means - values) ** 2)).sum(axis=0)
    values += (own.sum() - values.sum()) * squares / squares.sum()
    return values, np.sqrt(squares)


def _normalized(likelihood: Floats, weights: Floats) -> Floats:
    """For each unit the chances of all components; `likelihood` is a logarithm [components, units]."""
    joint = likelihood + np.log(weights)[:, None]
    chance: Floats = np.exp(joint - joint.max(axis=0))
    chance /= chance.sum(axis=0)
    return chance
