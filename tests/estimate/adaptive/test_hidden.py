from dataclasses import replace

import numpy as np
import pytest

from skillsv.estimate.adaptive.earlier_comparison import EarlierComparison
from skillsv.estimate.adaptive.forecasts import Stretch
from skillsv.estimate.adaptive.hidden import estimate_hidden
from skillsv.estimate.adaptive.patterns import PatternEffects


def effects_of(values):
    values = np.array(values, dtype=float)
    tasks, units = values.shape
    nothing = np.zeros((tasks, units), dtype=bool)
    return PatternEffects(
        values=values,
        lifts=values.sum(axis=1),
        deciding=values != 0,
        predicted=np.zeros(tasks),
        agreeing=np.zeros(tasks, dtype=np.int64),
        spread=np.zeros(units),
        changing=(values != 0).any(axis=1),
        suspected=nothing,
        compared=nothing,
    )


def clean(effects, count=2):
    return [[Stretch(some=bool(some), clean=count, failure=None)] for some in effects.deciding.any(axis=1)]


def test_lift_that_no_unit_explains_goes_to_the_units_that_gain_elsewhere():
    effects = effects_of([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    hidden = estimate_hidden(effects, np.array([1.0, 1.0, 1.0, 1.0]), clean(effects))
    assert hidden.unexplained[:3] == pytest.approx(0.0)
    assert hidden.unexplained[3].sum() == pytest.approx(1.0)
    assert hidden.unexplained[3, 0] > 1.5 * hidden.unexplained[3, 1] > 3 * hidden.unexplained[3, 2]
    assert hidden.variance[3].sum() > 10 * hidden.variance[0].sum()


def test_cancelled_gains_and_harms_are_given_back_without_changing_the_sum():
    found = [[1, -1, 0]] * 3
    effects = effects_of([*found, *[[0, 0, 0]] * 9])
    lifts = np.zeros(12)
    failing = [
        [Stretch(some=False, clean=1, failure=1.0), Stretch(some=True, clean=3, failure=None)] if some else mine
        for some, mine in zip(effects.deciding.any(axis=1), clean(effects, 1), strict=True)
    ]
    hidden = estimate_hidden(effects, lifts, failing)
    assert hidden.cancelled[0] > 0.03
    assert hidden.cancelled[1] < -0.03
    assert abs(hidden.cancelled.sum()) < 1e-9
    more_probes = estimate_hidden(effects, lifts, [[*mine[:-1], replace(mine[-1], clean=12)] for mine in failing])
    assert more_probes.cancelled[0] < hidden.cancelled[0] / 2


def test_nothing_is_given_back_where_no_harm_was_found():
    effects = effects_of([[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    hidden = estimate_hidden(effects, np.array([1.0, 1.0, 0.0]), clean(effects))
    assert not hidden.cancelled.any()
    assert (hidden.shared > 0).all()
    assert not hidden.unexplained.any()


def test_a_missing_anchor_explains_nothing():
    effects = effects_of([[1, 0], [0, 0]])
    hidden = estimate_hidden(effects, np.array([1.0, np.nan]), clean(effects))
    assert not hidden.unexplained.any()


def test_equal_anchors_hide_less_where_tasks_show_no_harms():
    helped, harmed = effects_of([[1, 0, 0]] * 6 + [[0, 0, 0]] * 4), effects_of([[2, -1, 0]] * 6 + [[0, 0, 0]] * 4)
    lifts = np.array([1.0] * 6 + [0.0] * 4)
    variance = [estimate_hidden(effects, lifts, clean(effects)).variance[6:].sum() for effects in (helped, harmed)]
    assert variance[0] < variance[1] / 2


def compared(effects, contradicted, *, agreeing=0, shared=()):
    tasks, units = effects.values.shape
    mine = np.zeros((tasks, units), dtype=bool)
    for task, unit in shared:
        mine[task, unit] = True
    return EarlierComparison(
        contradicted=np.isin(np.arange(tasks), contradicted), agreeing=np.full(tasks, agreeing), shared=mine
    )


def test_the_search_of_an_earlier_agent_whose_scores_hold_counts():
    effects = effects_of([[1, 0, 0]] * 6)
    lifts, probes = np.ones(6), clean(effects)
    alone = estimate_hidden(effects, lifts, probes)
    told = estimate_hidden(effects, lifts, probes, compared=compared(effects, [], agreeing=20))
    assert told.variance.sum() < alone.variance.sum() / 2
    nothing_known = estimate_hidden(effects, lifts, probes, compared=compared(effects, []))
    assert nothing_known.variance == pytest.approx(alone.variance)


def test_only_new_findings_on_contradicted_tasks_tell_about_contradicted_tasks():
    effects = effects_of([[1, 0, 0]] * 6 + [[0, 0, 1]] * 2 + [[0, 0, 0]] * 2)
    lifts, there = np.ones(10), [6, 7, 8, 9]
    alone = estimate_hidden(effects, lifts, clean(effects))
    assert alone.unexplained[8].argmax() == 0
    told = estimate_hidden(effects, lifts, clean(effects), compared=compared(effects, there))
    assert told.unexplained[8].argmax() == 2
    assert told.unexplained[8].sum() == pytest.approx(1.0)
    assert told.variance[8].sum() > alone.variance[8].sum(), "fewer findings tell less"
    known = [(6, 2), (7, 2)]  # the unit decides these tasks for the earlier agent, too
    shared = estimate_hidden(effects, lifts, clean(effects), compared=compared(effects, there, shared=known))
    assert shared.unexplained[8] == pytest.approx(1 / 3)
