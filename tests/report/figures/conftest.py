"""Valuations with known net effects, for the drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from skillsv.model.value import Action, Interval, Valuation
from skillsv.report.sentences import execution_units


@pytest.fixture
def valuation_of(case) -> Callable[..., Valuation]:
    """Make a valuation of units with these net effects, from a score without the skill to one with all of it."""

    def make(nets: Sequence[float], *, empty: float = 0.2, trigger: float = 0.05, full: float | None = None):
        unit, anchors = execution_units(case.valuation)[0], case.valuation.estimate.anchors
        reports = tuple(
            replace(
                unit,
                id=f"u{number}",
                text=f"Rule {number}.",
                value=replace(unit.value, id=f"u{number}", net=Interval(net, -0.5, 0.5)),
                verdict=replace(unit.verdict, unit=f"u{number}", action=Action.KEEP if net > 0 else Action.HARMFUL),
            )
            for number, net in enumerate(nets)
        )
        known = math.fsum(net for net in nets if not math.isnan(net))
        score = empty + trigger + known if full is None else full
        estimate = replace(
            case.valuation.estimate,
            anchors=replace(anchors, empty=Interval(empty, 0.0, 1.0), full=Interval(score, 0.0, 1.0)),
            trigger_value=Interval(trigger, -0.5, 0.5),
            units=tuple(report.value for report in reports),
        )
        return replace(case.valuation, estimate=estimate, units=reports)

    return make
