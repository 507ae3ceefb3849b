import numpy as np
import pytest

from skillsv.errors import SettingsError
from skillsv_bench.cli.estimators import estimators
from skillsv_bench.estimators import arms, family_study, peers
from skillsv_bench.estimators.family_study import TUNING_KINDS, compare_on_family, run_family, slope_on
from skillsv_bench.estimators.family_summary import ALL, family_claims, family_table
from skillsv_bench.estimators.family_text import family_text
from skillsv_bench.families import KINDS, NOISES, draw_game


@pytest.fixture(scope="module")
def comparisons():
    small_games = (("graded", 17), ("interacting", 7))
    return [compare_on_family(kind, "T=0", seed, (200, 400)) for kind, seed in small_games]


def test_tuning_and_report_are_kept_apart():
    assert not set(family_study.TUNING_SEEDS) & set(family_study.REPORT_SEEDS)
    assert set(TUNING_KINDS) < set(KINDS)


def test_rows_for_each_kind_and_for_all(comparisons):
    rows = family_table(comparisons)
    assert {row.kind for row in rows} == {"graded", "interacting", ALL}
    assert [row.arm for row in rows if row.kind == "graded"] == ["auto, 200", "auto, 400", arms.PAPER]
    whole = next(row for row in rows if row.kind == ALL and row.arm == "auto, 400")
    assert whole.games == 2
    assert whole.covered is not None
    assert 0.5 < whole.covered.value <= 1.0
    assert {row.kind: row.tuned for row in rows} == {"graded": True, "interacting": False, ALL: False}


def test_the_bar_names_the_worst_cell(comparisons):
    lines = family_claims(comparisons, (200, 400))
    assert any("on new tasks" in line.text and "cells miss" in line.measured for line in lines)
    assert any("called noisy" in line.text for line in lines)
    text = family_text(family_table(comparisons), lines)
    assert "| graded* | auto, 200 |" in text
    assert "| interacting | auto, 200 |" in text


def test_slope_of_shrunk_values():
    truth = np.array([0.1, -0.2, 0.0, 0.3])
    assert slope_on(truth, truth) == pytest.approx(1.0)
    assert slope_on(truth, 0.5 * truth + 0.2) == pytest.approx(0.5)


def test_values_are_not_shrunk_where_harms_cancel_gains():
    slopes = []
    for seed in (3, 8):
        game = draw_game("harmful", seed, units=24, tasks=60)
        run = run_family(game, NOISES["T=0"], seed, 1000)
        estimate = run.estimate(1000)
        slopes.append(
            slope_on(game.truth(NOISES["T=0"]), np.array([unit.net_or_zero.value for unit in estimate.units]))
        )
    assert np.mean(slopes) > 0.88


def test_peers_estimate_their_own_targets():
    pytest.importorskip("sklearn")
    game = draw_game("sparse", 4, units=15, tasks=20)
    answers = list(peers.peer_answers(game, NOISES["T=0"], 1, (30, 1500), (peers.LASSO,)))
    assert [answer.rollouts for answer in answers] == [1500]
    assert np.corrcoef(answers[0].values, answers[0].target)[0, 1] > 0.8


def test_shapley_peers_estimate_their_own_target():
    pytest.importorskip("shapiq")
    game = draw_game("sparse", 4, units=15, tasks=20)
    answers = list(peers.peer_answers(game, NOISES["T=0"], 1, (1500,), (peers.KERNEL, peers.LEVERAGE)))
    for answer in answers:
        assert np.corrcoef(answer.values, answer.target)[0, 1] > 0.7
        lift = np.diff(game.chances(np.array([[False], [True]]) & np.ones(15, dtype=bool), NOISES["T=0"]).mean(axis=1))
        assert answer.values.sum() == pytest.approx(float(lift[0]), abs=1e-6)


def test_unknown_kinds_and_budgets_are_refused():
    with pytest.raises(SettingsError, match="no kind of game"):
        estimators(kinds="flat")
    with pytest.raises(SettingsError, match="no list of rollouts"):
        estimators(kinds="sparse", budgets="many")
    with pytest.raises(SettingsError, match="too few"):
        estimators(kinds="sparse", games=0)
