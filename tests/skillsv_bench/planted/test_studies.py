"""The estimator measured against known truth. Short versions here; the full ones are marked heavy."""

from dataclasses import replace

import numpy as np
import pytest

from skillsv.decide import verdicts
from skillsv.errors import RecordsError
from skillsv.estimate import compare_with_control, estimate_chains
from skillsv.model.value import Action, Evidence
from skillsv_bench.planted import Noise, SharedNoise, make_plans, planted_skill, record_chains
from skillsv_bench.planted.game import Role
from skillsv_bench.planted.studies import Setting, bias, calibrate, coverage, recover, score_methods, variance_by_window

QUIET, WARM, HOT, LAPSE = Noise(), Noise(temperature=0.25), Noise(temperature=0.5), Noise(lapse=0.08)
SHAPES = ("livemath", "officeqa", "spreadsheet", "alfworld")


def test_planted_roles_are_recovered():
    game = planted_skill("mechanism")
    found = recover(game, Setting(chains=48, tolerance=None), seed=1)
    by_role = {role: [unit for unit in found.estimate.units if found.role(unit.id) is role] for role in Role}
    for role in (Role.OR, Role.AND):
        assert [unit.evidence for unit in by_role[role]] == [Evidence.POSITIVE] * 2
        assert all(unit.net.covers(0.125) for unit in by_role[role])
    assert by_role[Role.HARMFUL][0].evidence is Evidence.NEGATIVE
    assert by_role[Role.DEAD][0].evidence in {Evidence.NEGLIGIBLE, Evidence.IDLE, Evidence.UNRESOLVED}
    tokens = dict.fromkeys(game.compiled.execution, 10)
    actions = {row.unit: row.action for row in verdicts(game.compiled, found.estimate, tokens)}
    assert actions[by_role[Role.HARMFUL][0].id] is Action.HARMFUL
    assert actions[by_role[Role.DEAD][0].id] is Action.IDLE
    assert {actions[unit.id] for role in (Role.OR, Role.AND, Role.STRONG) for unit in by_role[role]} == {Action.KEEP}


@pytest.mark.parametrize("noise", [QUIET, HOT, LAPSE])
def test_the_estimator_is_unbiased_without_truncation(noise):
    _assert_unbiased("mechanism", noise, repetitions=300, sigmas=4)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["mechanism", "livemath"])
@pytest.mark.parametrize("noise", [QUIET, HOT, LAPSE])
def test_unbiased_over_2000_repetitions(kind, noise):
    _assert_unbiased(kind, noise, repetitions=2000, sigmas=3)


def _assert_unbiased(kind, noise, repetitions, sigmas):
    setting = Setting(chains=4, window=4, tolerance=None, noise=noise)
    for row in bias(planted_skill(kind, 1), setting, repetitions=repetitions, seed=7):
        assert abs(row.mean - row.truth) <= sigmas * row.standard_error + 1e-12, row


def test_truncation_has_a_bias_that_is_measured():
    rows = bias(planted_skill("mechanism"), Setting(chains=12, tolerance=0.05), repetitions=100, seed=3)
    worst = max(rows, key=lambda row: abs(row.mean - row.truth))
    assert abs(worst.mean - worst.truth) > 5 * worst.standard_error


@pytest.mark.parametrize("noise", [QUIET, HOT])
def test_intervals_cover_and_the_plain_bootstrap_does_not(noise):
    rows = coverage("livemath", Setting(tolerance=None, noise=noise), games=(31, 32), repetitions=10, chains=(12, 24))
    for row in rows:
        assert 0.9 <= row.honest <= 1.0
        assert row.plain < row.honest


@pytest.mark.heavy
@pytest.mark.parametrize("tolerance", [None, 0.05])
@pytest.mark.parametrize("noise", [QUIET, WARM, HOT, LAPSE])
def test_coverage_over_300_repetitions(noise, tolerance):
    # 300 runs: 4 shapes, 15 games each that no factor was chosen on, 5 runs a game.
    setting = Setting(tolerance=tolerance, noise=noise)
    shapes = [coverage(kind, setting, games=range(700, 715), repetitions=5) for kind in SHAPES]
    for rows in zip(*shapes, strict=True):
        assert sum(row.repetitions for row in rows) == 300
        honest, plain = (float(np.mean([getattr(row, name) for row in rows])) for name in ("honest", "plain"))
        assert 0.92 <= honest <= 0.98
        assert plain < honest


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["officeqa", "spreadsheet"])
def test_values_add_up_to_the_lift(kind):
    ratios = [
        recover(planted_skill(kind, seed), Setting(chains=48), seed).estimate.closure.ratio for seed in range(60, 66)
    ]
    assert 0.9 <= np.mean(ratios) <= 1.1


def test_skillsv_beats_the_baselines_on_planted_games():
    found = [score_methods(recover(planted_skill("officeqa", seed), Setting(chains=48), seed)) for seed in range(3)]
    for ours, left_out, chance in found:
        assert ours.spearman > left_out.spearman
        assert ours.spearman > chance.spearman
        assert ours.rmse_over_sd < left_out.rmse_over_sd


@pytest.mark.parametrize("noise", [QUIET, HOT])
def test_shared_windows_reduce_variance_except_on_the_whole_panel(noise):
    game = planted_skill("livemath", 2)
    rows = {
        row.window: row for row in variance_by_window(game, noise, windows=(2, 8, len(game.tasks)), chains=200, seed=3)
    }
    assert rows[2].paired < rows[2].unpaired / 2
    assert rows[8].paired < rows[8].unpaired
    whole = rows[len(game.tasks)]
    assert whole.paired == pytest.approx(whole.unpaired, rel=1e-12)


def test_calibration_weighs_error_against_rollouts():
    rows = calibrate(
        lambda seed: planted_skill("livemath", seed),
        QUIET,
        windows=(4, 16),
        tolerances=(None, 0.05),
        games=(1, 2),
        repetitions=8,
    )
    cell = {(row.window, row.tolerance): row for row in rows}
    assert cell[4, 0.05].rollouts < cell[4, None].rollouts < cell[16, None].rollouts
    assert cell[16, None].rmse_over_sd < cell[4, None].rmse_over_sd


def _truncated_and_control(noise=QUIET):
    game, rng = planted_skill("livemath", 4), np.random.default_rng(9)
    plans, shared_noise = make_plans(game, rng, chains=24, window=8, tolerance=0.05), SharedNoise.draw(game, rng)
    whole = [replace(plan, tolerance=None) for plan in plans]
    return game, *(record_chains(game, some, noise=noise, shared_noise=shared_noise) for some in (plans, whole))


def test_truncation_leaves_at_most_tau_on_its_window():
    game, truncated, control = _truncated_and_control(HOT)
    audit = compare_with_control(game.compiled, truncated, control)
    assert audit.within_bound
    assert len(audit.omitted) > 0
    assert max(map(abs, audit.omitted)) <= 0.05 + 1e-12
    assert audit.prefixes < audit.prefixes_control
    # Only the sum is bounded: some unit may be off by more than the bound's share.
    differences = {
        unit.id: unit.net.value - other.net.value
        for unit, other in zip(
            estimate_chains(game.compiled, truncated).units, estimate_chains(game.compiled, control).units, strict=True
        )
    }
    assert {unit: row.value for unit, row in audit.units.items()} == pytest.approx(differences, abs=1e-12)


def test_a_control_of_other_chains_is_refused():
    game, truncated, control = _truncated_and_control()
    moved = [replace(record, plan=replace(record.plan, window=truncated[0].plan.window)) for record in control]
    with pytest.raises(RecordsError, match="same order and window"):
        compare_with_control(game.compiled, truncated[1:], moved)
