"""The truncation control: paired chains, what was omitted, and what it is really worth."""

from dataclasses import replace

import numpy as np
import pytest

from skillsv.errors import RecordsError
from skillsv.model.coalition import ChainStep, Operator
from skillsv_bench.planted import Noise, SharedNoise, make_plans, planted_skill, record_chains
from skillsv_bench.planted.studies import Setting
from skillsv_bench.planted.truncation import control_truncation, study_truncation, truncate

HOT = Noise(temperature=0.5)


def chains(kind="livemath", tolerance=None, noise=HOT):
    game, rng = planted_skill(kind, 4), np.random.default_rng(9)
    plans = make_plans(game, rng, chains=24, window=8, tolerance=tolerance)
    return game, record_chains(game, plans, noise=noise, shared_noise=SharedNoise.draw(game, rng))


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.15, 0.3])
def test_a_chain_truncated_afterwards_is_the_chain_that_algorithm_one_records(tolerance):
    _, control = chains()
    _, truncated = chains(tolerance=tolerance)
    assert [truncate(record, tolerance) for record in control] == truncated
    assert any(record.truncated_at is not None for record in truncated)


def test_the_gate_must_hold_for_both_operators():
    _, control = chains()
    record = next(record for record in control if truncate(record, 0.05).truncated_at)
    far = (0.0 if 2 * sum(record.full) >= len(record.full) else 1.0,) * len(record.full)
    padded = tuple(ChainStep(operator=Operator.PAD, position=s.position, unit=s.unit, scores=far) for s in record.steps)
    plan = replace(record.plan, operators=(Operator.DELETE, Operator.PAD))
    both = replace(record, plan=plan, trigger=record.trigger * 2, steps=(*record.steps, *padded))
    assert truncate(both, 0.05).truncated_at is None


def test_tau_bounds_the_omitted_suffix_on_the_window_and_not_on_the_panel():
    game = planted_skill("livemath", 1)
    rows = study_truncation(game, Setting(chains=12, noise=HOT), repetitions=10, seed=3)
    for row in rows:
        assert row.beyond == 0.0
        assert row.low <= row.omitted <= row.high
        assert abs(row.omitted) <= row.tolerance + 1e-12
    paper = next(row for row in rows if row.tolerance == 0.05)
    assert paper.true_beyond > 0.25
    assert paper.true_omitted > paper.omitted


def test_a_larger_tolerance_saves_more_and_omits_more():
    rows = study_truncation(planted_skill("livemath", 2), Setting(chains=12), repetitions=5, seed=0)
    assert [row.gamma for row in rows] == sorted((row.gamma for row in rows), reverse=True)
    assert [row.saved for row in rows] == sorted(row.saved for row in rows)
    assert rows[-1].saved > rows[0].saved
    assert rows[-1].true_omitted > rows[0].true_omitted


def test_saved_rollouts_are_those_of_the_steps_that_were_not_run():
    game, control = chains(noise=Noise())
    (row,) = control_truncation(game.compiled, [control], tolerances=[0.15])
    cut = [truncate(record, 0.15) for record in control]
    full = len(control[0].plan.order)
    run = sum(len(record.steps) - (record.truncated_at is None) for record in cut)
    assert row.gamma == pytest.approx(run / (len(cut) * (full - 2)))
    assert row.saved == pytest.approx(1 - (3 * len(cut) + run) / ((3 + full - 2) * len(cut)))
    assert row.true_omitted is None
    assert row.true_beyond is None


def test_truncated_chains_are_no_control():
    game, truncated = chains(tolerance=0.05)
    with pytest.raises(RecordsError, match="no control"):
        control_truncation(game.compiled, [truncated])
