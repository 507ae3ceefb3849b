"""What deleting a set of units is predicted to change, with an interval, and not better than it is.

The units of a set were chosen because they look worthless, and some of them look so by chance. So the prediction is a
posterior mean: values are drawn towards their common mean by as much as they are uncertain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from skillsv.errors import RecordsError
from skillsv.estimate.adaptive.deletion_draws import draw_deletions
from skillsv.model.value import Interval
from skillsv.pipeline.edit import PrunedSkill, predict_losses
from skillsv.pipeline.run import Run

PredictChanges = Callable[[Sequence[frozenset[str]]], list[Interval]]
"""The predicted change of the score, on these tasks, by each set of removed units, with a 95 % interval."""

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
    return make_change_predictor(run)([frozenset(pruned.removed)])[0]


def make_change_predictor(run: Run) -> PredictChanges:
    """The function that predicts the change of the score by each of several sets of removed units."""
    if any(item.agent_is_noisy for item in run.observations):
        return _posterior_changes(run)
    _, predict_loss = predict_losses(run)
    everything, nothing = run.compiled.everything, Interval(0.0, 0.0, 0.0)

    def predict(sets: Sequence[frozenset[str]]) -> list[Interval]:
        return [
            _shrunk_change(run, removed, -predict_loss(everything - removed)) if removed else nothing
            for removed in sets
        ]

    return predict


def _posterior_changes(run: Run) -> PredictChanges:
    """Predictions for a noisy agent: draws of what each set loses."""
    rng = np.random.default_rng([run.settings.seed, DRAW_STREAM])
    draws = draw_deletions(run.compiled, run.observations, rng, same_tasks=True)

    def predict(sets: Sequence[frozenset[str]]) -> list[Interval]:
        masks = np.array([[unit in removed for unit in draws.units] for removed in sets])
        changes = -draws.of_sets(masks).drop
        ends = np.quantile(changes, [0.025, 0.975], axis=1)
        return [Interval(*map(float, row)) for row in zip(changes.mean(axis=1), *ends, strict=True)]

    return predict


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
