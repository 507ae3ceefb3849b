"""What deleting a set of units is predicted to change, with an interval, and not better than it is.

The units of a set were chosen because they look worthless, and some of them look so by chance. So the prediction is a
posterior mean: values are drawn towards their common mean by as much as they are uncertain.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.adaptive.deletion_draws import draw_deletions
from skillsv.model.value import Interval
from skillsv.pipeline.edit import PrunedSkill
from skillsv.pipeline.run import Run

DRAW_STREAM = 19
"""Random stream of the draws."""

WITHIN = 1.96
"""Standard errors of a 95 % interval."""


def require_tested(run: Run, removed: Collection[str]) -> None:
    """Raise RecordsError where the run is not finished, or where no rollout has tested a unit that would go."""
    if run.valuation.provisional:
        raise RecordsError(
            "the values are provisional: the run is not finished.",
            hint="Run the same 'skillsv value' again to finish it, or let 'skillsv shrink' choose and prove.",
        )
    untested = [unit.id for unit in run.valuation.units if unit.id in removed and not unit.value.has_value]
    if untested:
        raise RecordsError(
            f"{len(untested)} of the units that would go have no value yet, first {untested[0]}: nothing tells what "
            "they are worth.",
            hint="Value the skill with more rollouts, or remove less.",
        )


def predict_change(run: Run, pruned: PrunedSkill) -> Interval:
    """The predicted change of the score by a shorter skill, on these tasks, with a 95 % interval."""
    if not pruned.steps:
        return Interval(0.0, 0.0, 0.0)
    removed = frozenset(pruned.removed)
    if any(item.agent_is_noisy for item in run.observations):
        draws = draw_deletions(
            run.compiled,
            run.observations,
            np.random.default_rng([run.settings.seed, DRAW_STREAM]),
            same_tasks=True,
        )
        mask = np.array([[unit in removed for unit in draws.units]])
        change = -draws.of_sets(mask).drop[0]
        low, high = np.quantile(change, [0.025, 0.975]).tolist()
        return Interval(float(change.mean()), low, high)
    return _shrunk_change(run, removed, -pruned.steps[-1].lost_value)


def _shrunk_change(run: Run, removed: frozenset[str], change: float) -> Interval:
    """The change that the values predict, corrected by how much the removed units' values are drawn to the mean."""
    units = [unit for unit in run.valuation.units if unit.value.has_value]
    values = np.array([unit.value.net.value for unit in units])
    errors = np.array([unit.value.standard_error for unit in units])
    mine = np.array([unit.id in removed for unit in units])
    true_variance = max(float(values.var() - (errors**2).mean()), 0.0)
    kept_share = true_variance / np.maximum(true_variance + errors**2, 1e-12)
    posterior = values.mean() + kept_share * (values - values.mean())
    expected = change - float((posterior - values)[mine].sum())
    half = WITHIN * float(np.sqrt((kept_share * errors**2)[mine].sum()))
    return Interval(expected, expected - half, expected + half)
