"""The loss of score that is predicted for a partial skill."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import fsum

from skillsv.decide.pruning import Partners
from skillsv.model.coalition import Coalition
from skillsv.model.skill import CompiledSkill

PredictLoss = Callable[[Coalition], float]
"""The predicted loss of score where only this coalition is kept."""


def sum_losses(values: Mapping[str, float], partners: Partners) -> PredictLoss:
    """Predict the sum of the removed values; a unit whose partner is kept counts with its effect beside the partner."""

    def predict(kept: Coalition) -> float:
        removed = [unit for unit in values if unit not in kept]
        separated = {unit for unit in removed if unit in partners and partners[unit][0] in kept}
        return sum(_loss_beside(values, partners, unit) if unit in separated else values[unit] for unit in removed)

    return predict


def _loss_beside(values: Mapping[str, float], partners: Partners, unit: str) -> float:
    """The loss by removing a unit whose partner is kept.

    A value is the mean of the effects with and without the partner. So there are two estimates: the effect of the unit
    beside its partner, and the values of both minus the effect of the partner alone. The first is exact for redundant
    units, where it is 0, the second for units that need each other, where the partner alone has no effect. Between
    them they are mixed by the share of the effects that was seen beside the partner.
    """
    partner, _, unit_alone = partners[unit]
    partner_alone = partners.get(partner, (unit, 1.0, 1.0))[2]
    share = 1 - (unit_alone + partner_alone) / 4
    beside = (2 - unit_alone) * values[unit]
    both_but_partner = values[unit] + (1 - partner_alone) * values.get(partner, 0.0)
    return (1 - share) * beside + share * both_but_partner


def end_at_lift(predict: PredictLoss, compiled: CompiledSkill, values: Mapping[str, float], lift: float) -> PredictLoss:
    """Correct the predictions, so that removing all units loses exactly the measured lift.

    What is missing there is spread over the units in proportion to the size of their values.
    """
    size = {unit: abs(values.get(unit, 0.0)) for unit in compiled.execution}
    total = sum(size.values())
    if not total:
        size, total = dict.fromkeys(compiled.execution, 1.0), float(len(compiled.execution))
    gap = lift - predict(frozenset({compiled.trigger}))
    counted = frozenset(unit for unit, amount in size.items() if amount)

    def corrected(kept: Coalition) -> float:
        removed = fsum(map(size.__getitem__, counted - kept))
        return predict(kept) + gap * removed / total if total else predict(kept)

    return corrected
