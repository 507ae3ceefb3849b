"""Closure compares the sum of values with the lift of the whole panel, and an estimator that is wrong does not pass."""

from dataclasses import replace

import numpy as np
import pytest

import skillsv.estimate.chain as chain_module
from skillsv.estimate import estimate_chains
from skillsv.estimate.chain import NO_PANEL_ANCHORS
from skillsv.estimate.marginals import marginals
from skillsv_bench.planted.game import Noise
from skillsv_bench.planted.generate import planted_skill
from skillsv_bench.planted.simulate import SharedNoise, make_plans, play_panel_anchors, record_chains


def planted_run(kind="livemath", seed=1, *, noise=None, tolerance=None, window=8):
    """A planted game, twelve chains of it, and its anchors on all tasks."""
    game, rng, noise = planted_skill(kind, seed), np.random.default_rng(seed), noise or Noise()
    shared_noise = SharedNoise.draw(game, rng)
    plans = make_plans(game, rng, chains=12, window=window, tolerance=tolerance)
    records = record_chains(game, plans, noise=noise, shared_noise=shared_noise)
    return game, records, play_panel_anchors(game, noise=noise, shared_noise=shared_noise)


@pytest.mark.parametrize("kind", ["livemath", "officeqa", "alfworld"])
def test_the_ratio_is_the_sum_over_the_exact_lift_and_differs_from_one(kind):
    for seed in range(4):
        game, records, panel = planted_run(kind, seed)
        estimate = estimate_chains(game.compiled, records, panel=panel)
        exact = float(game.truth(Noise()).sum())
        total = sum(unit.net.value for unit in estimate.units)
        assert estimate.content_lift.value == pytest.approx(exact, abs=1e-12)
        assert estimate.closure.ratio == pytest.approx(total / exact)
        assert estimate.closure.gap.value == pytest.approx(total - exact, abs=1e-12)
        if seed == 0:
            assert abs(estimate.closure.ratio - 1) > 0.05


@pytest.mark.heavy
def test_the_gap_of_a_right_estimator_covers_zero_about_as_often_as_its_level_says():
    covered = []
    for seed in range(60):
        game, records, panel = planted_run(("livemath", "officeqa", "alfworld")[seed % 3], seed)
        covered.append(estimate_chains(game.compiled, records, panel=panel).closure.covered)
    assert 0.85 <= np.mean(covered) <= 1.0


def test_anchors_are_means_over_the_panel():
    game, records, panel = planted_run()
    anchors = estimate_chains(game.compiled, records, panel=panel).anchors
    assert anchors.empty.value == pytest.approx(np.mean(panel.empty))
    assert anchors.trigger.value == pytest.approx(np.mean(panel.trigger))
    assert anchors.full.value == pytest.approx(np.mean(panel.full))
    assert len(panel.tasks) == len(game.tasks) > len({task for one in records for task in one.plan.window.tasks})


def double_best_unit(change):
    best = change.mean(axis=0).argmax()
    return np.where(np.arange(change.shape[1]) == best, 2 * change, change)


def drop_first_chain(change):
    return np.where(np.arange(len(change))[:, None] == 0, 0.0, change)


@pytest.mark.parametrize("tolerance", [None, 0.05])
@pytest.mark.parametrize("mistake", [double_best_unit, drop_first_chain])
def test_a_wrong_estimator_is_caught(mistake, tolerance, monkeypatch):
    game, records, panel = planted_run(tolerance=tolerance)
    assert estimate_chains(game.compiled, records, panel=panel).closure.covered

    def wrong_marginals(*arguments):
        part = marginals(*arguments)
        return replace(part, change=mistake(part.change))

    monkeypatch.setattr(chain_module, "marginals", wrong_marginals)
    assert estimate_chains(game.compiled, records).closure.covered, "the lift of the windows does not show the mistake"
    assert not estimate_chains(game.compiled, records, panel=panel).closure.covered


def test_a_doubled_value_moves_the_gap_off_zero(monkeypatch):
    game, records, panel = planted_run("mechanism", window=24)
    right = estimate_chains(game.compiled, records, panel=panel).closure.gap

    def wrong_marginals(*arguments):
        part = marginals(*arguments)
        return replace(part, change=double_best_unit(part.change))

    monkeypatch.setattr(chain_module, "marginals", wrong_marginals)
    wrong = estimate_chains(game.compiled, records, panel=panel).closure.gap
    assert right.covers(0.0)
    assert wrong.low > 0.1


def test_without_anchors_on_the_panel_the_lift_is_that_of_the_windows_and_a_note_says_so():
    game, records, panel = planted_run()
    estimate = estimate_chains(game.compiled, records)
    assert estimate.closure.gap is None
    assert estimate.closure.ratio == pytest.approx(1.0)
    assert NO_PANEL_ANCHORS in estimate.notes
    assert NO_PANEL_ANCHORS not in estimate_chains(game.compiled, records, panel=panel).notes
    nothing = replace(panel, full=(None,) * len(panel.tasks))
    assert NO_PANEL_ANCHORS in estimate_chains(game.compiled, records, panel=nothing).notes


def test_missing_anchors_are_left_out_and_counted():
    game, records, panel = planted_run()
    partial = replace(panel, full=(None, *panel.full[1:]))
    estimate = estimate_chains(game.compiled, records, panel=partial)
    lifts = [full - trigger for full, trigger in zip(panel.full[1:], panel.trigger[1:], strict=True)]
    assert estimate.content_lift.value == pytest.approx(np.mean(lifts))
    assert estimate.missing == 1
