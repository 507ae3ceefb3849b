import xml.etree.ElementTree as ET

import numpy as np
import pytest

from skillsv.errors import SettingsError
from skillsv_bench.cli.estimators import estimators
from skillsv_bench.estimators import arms, study, summary
from skillsv_bench.estimators.study import error_over_spread, judge, rank_correlation, rollouts_to_reach
from skillsv_bench.estimators.summary import draw
from skillsv_bench.planted import Noise, planted_skill


@pytest.fixture(scope="module")
def comparisons():
    return [study.compare_on_game("livemath", noise, study.TUNING_SEEDS[7], (300, 1200)) for noise in ("T=0", "lapse")]


def test_games_for_tuning_and_for_reporting_are_kept_apart():
    assert not set(study.TUNING_SEEDS) & set(study.TEST_SEEDS)


def test_every_method_is_played_and_judged(comparisons):
    names = [quality.arm for quality in comparisons[0].qualities]
    assert names == [
        arms.PAPER,
        arms.MORE,
        arms.MOST,
        arms.UNTRUNCATED,
        arms.LEFT_OUT,
        arms.CONSTANT,
        "auto, 300",
        "auto, 1200",
        "auto, as K=12",
        "auto, as K=48",
    ]
    best = comparisons[0].of("auto, 1200")
    assert best is not None
    assert best.error < 0.8
    assert comparisons[0].saved is not None
    assert comparisons[0].noisy_after is None
    assert comparisons[1].noisy_after is not None


def test_the_table_the_bar_and_the_figure_come_out(comparisons):
    rows = summary.table(comparisons)
    assert {row.noise for row in rows} == {"T=0", "lapse"}
    late = study.LateNoise(noticed=4, runs=4, delay=50.0)
    bar = summary.claims(comparisons, (300, 1200), late, 2.1)
    assert any("noise told apart" in line.text for line in bar)
    root = ET.fromstring(draw(rows))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) == 4


def test_the_constant_that_knows_the_lift_scores_one():
    truth = planted_skill("livemath", 0).truth(Noise())
    answer = arms.Answer(arm="constant", rollouts=0, values=np.full(len(truth), truth.mean()))
    quality = judge(answer, truth)
    assert quality.error == pytest.approx(1.0)
    assert quality.spearman == 0.0
    assert quality.covered is None


def test_measures_of_a_perfect_answer():
    truth = np.array([0.1, -0.2, 0.0])
    assert error_over_spread(truth, truth) == 0.0
    assert rank_correlation(truth, truth) == pytest.approx(1.0)


def test_rollouts_at_equal_error_are_read_off_the_curve():
    assert rollouts_to_reach(0.5, [100, 400], [1.0, 0.0]) == pytest.approx(200.0)
    assert rollouts_to_reach(2.0, [100, 400], [1.0, 0.0]) == 100.0
    assert rollouts_to_reach(0.1, [100, 400], [1.0, 0.2]) is None


def test_prompts_that_chains_share_are_paid_once():
    game = planted_skill("mechanism", 0)
    answers = {answer.arm: answer for answer in arms.chain_answers(game, Noise(), np.random.default_rng(0))}
    assert answers[arms.PAPER].rollouts < answers[arms.MORE].rollouts < answers[arms.MOST].rollouts
    assert answers[arms.MOST].rollouts <= len(game.tasks) * 2 ** len(game.compiled.execution)


def test_unknown_noise_and_no_games_are_refused():
    with pytest.raises(SettingsError, match="no noise"):
        estimators(noise="T=9")
    with pytest.raises(SettingsError, match="compares nothing"):
        estimators(games=0)
