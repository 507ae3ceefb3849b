"""The pruning path of a run: the losses that it predicts, compared with those of planted games."""

from functools import cache

import numpy as np
import pytest

from skillsv.decide import Goal
from skillsv.estimate.adaptive import make_predictor
from skillsv.model.rollout import Usage
from skillsv.model.value import Spending
from skillsv.pipeline import edit
from skillsv.pipeline.build_valuation import RolloutResult
from skillsv.pipeline.edit import path_of, prune
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import build_run
from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts
from skillsv.settings import Settings
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill
from skillsv_bench.planted.game import Role
from skillsv_bench.planted.simulate import SharedNoise, make_plans, play_panel_anchors, record_chains

STEADY, NOISY = Noise(), Noise(temperature=0.5)


def adaptive_results(game, noise, seed, budget):
    player = Player(game, noise, seed)
    options = AdaptiveOptions(stop=MaxRollouts(budget))
    return {"observations": play_adaptive(make_adaptive_problem(game), player, options, seed).observations}


def chain_results(game, noise, seed, chains):
    rng = np.random.default_rng(seed)
    plans = make_plans(game, rng, chains=chains, window=8, tolerance=None)
    shared_noise = SharedNoise.draw(game, rng)
    records = tuple(record_chains(game, plans, noise=noise, shared_noise=shared_noise))
    return {"records": records, "panel_anchors": play_panel_anchors(game, noise=noise, shared_noise=shared_noise)}


@cache
def played(kind, method, noise, seed, size):
    """A planted game, and a run on it of so many rollouts or chains, without files."""
    game = planted_skill(kind, seed)
    results = (chain_results if method == "chain" else adaptive_results)(game, noise, seed, size)
    settings = Settings(method=method, seed=seed)
    spending = Spending(spent=0, reused=0, failed=0, forecast=0)
    result = RolloutResult(**results, spending=spending, usage=Usage())
    manifest = {"agent": {"spec": "planted:rules"}}
    return game, build_run(make_renderer(game.compiled, settings), settings, manifest, result)


def true_loss(game, noise, kept):
    full, left = game.chances(game.column_mask([game.compiled.everything, kept]), noise).mean(axis=1)
    return full - left


def error_of(run, removed):
    """Two standard errors of the predicted loss of some units: of their values, and of the lift at the path's end."""
    lift = run.valuation.estimate.content_lift
    errors = [unit.value.standard_error for unit in run.valuation.units if unit.id in removed]
    return np.hypot(2 * np.linalg.norm(errors), (lift.high - lift.low) / 2)


RUNS = [
    pytest.param("mechanism", "auto", STEADY, 500, id="auto"),
    pytest.param("mechanism", "auto", NOISY, 1500, id="auto-noisy"),
    pytest.param("mechanism", "chain", STEADY, 12, id="chain"),
    pytest.param("livemath", "auto", STEADY, 1500, id="livemath-auto"),
    pytest.param("livemath", "auto", NOISY, 1000, id="livemath-auto-noisy"),
    pytest.param("livemath", "chain", STEADY, 64, id="livemath-chain"),
]


@pytest.mark.parametrize(("kind", "method", "noise", "size"), RUNS)
def test_removing_all_units_loses_the_lift(kind, method, noise, size):
    _, run = played(kind, method, noise, 1, size)
    assert path_of(run)[-1].lost_value == pytest.approx(run.valuation.estimate.content_lift.value)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "method", "noise", "size"), RUNS[:5])
def test_every_prefix_is_predicted_within_the_error_of_the_estimate(kind, method, noise, size, seed):
    game, run = played(kind, method, noise, seed, size)
    for step in path_of(run):
        removed = game.compiled.everything - step.kept
        error = error_of(run, removed)
        assert step.lost_value == pytest.approx(true_loss(game, noise, step.kept), abs=max(error, 1e-9)), step.unit


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "chains"), [("mechanism", 12), ("officeqa", 48), ("spreadsheet", 48)])
def test_chains_predict_the_middle_and_the_end_of_the_path_within_their_error(kind, chains, seed):
    game, run = played(kind, "chain", STEADY, seed, chains)
    path = path_of(run)
    misses = np.array([abs(step.lost_value - true_loss(game, STEADY, step.kept)) for step in path])
    errors = np.array([error_of(run, game.compiled.everything - step.kept) for step in path])
    assert misses.mean() <= errors.mean()
    assert misses[len(path) // 2] <= errors[len(path) // 2]
    assert misses[-1] == pytest.approx(0.0, abs=1e-9), "the lift of the panel is exact for an agent without noise"


def test_a_run_fits_its_model_once(monkeypatch):
    game, run = played("mechanism", "auto", STEADY, 4, 400)
    fits = []
    monkeypatch.setattr(edit, "make_predictor", lambda *given: fits.append(given) or make_predictor(*given))
    assert path_of(run) == path_of(run)
    assert len(path_of(run, game.compiled.execution[:2])) == 2
    assert len(fits) == 1


@pytest.mark.parametrize(("method", "size"), [("auto", 900), ("chain", 12)])
def test_one_of_two_units_that_need_each_other_loses_what_both_give(method, size):
    game, run = played("mechanism", method, STEADY, 0, size)
    changes = {Role.AND: [], Role.OR: []}
    before = 0.0
    for step in path_of(run):
        changes.setdefault(game.role_of[step.unit], []).append(step.lost_value - before)
        before = step.lost_value
    assert changes[Role.AND] == pytest.approx([0.25, 0.0])
    assert changes[Role.OR] == pytest.approx([0.0, 0.25])


@pytest.mark.parametrize(("method", "size"), [("auto", 900), ("chain", 12)])
def test_a_pruned_skill_drops_no_more_than_allowed(method, size):
    game, run = played("mechanism", method, STEADY, 0, size)
    pruned = prune(run, Goal(max_drop=0.15))
    kept = game.compiled.everything - set(pruned.removed)
    assert pruned.steps[-1].lost_value == pytest.approx(true_loss(game, STEADY, kept))
    assert true_loss(game, STEADY, kept) <= 0.15
