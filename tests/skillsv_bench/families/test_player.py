import numpy as np
import pytest

from skillsv.model.coalition import AdaptiveReason, Operator
from skillsv.model.rollout import Request
from skillsv_bench.families import NOISES, FamilyPlayer, draw_game


def requests_for(game, coalition, count=1, operator=Operator.DELETE):
    return [
        Request(coalition=coalition, operator=operator, task=task.id, replicate=number, why=AdaptiveReason.VERIFY)
        for number in range(count)
        for task in game.tasks
    ]


@pytest.mark.parametrize("noise", ["T=0", "T=.25", "T=.5", "lapse", "mix"])
def test_mean_scores_are_the_expected_scores(noise):
    game = draw_game("graded", 1, units=15, tasks=20)
    half = frozenset([game.compiled.trigger, *game.compiled.execution[:7]])
    answers = FamilyPlayer(game, NOISES[noise], 3).answer(requests_for(game, half, 300))
    means = np.array(list(answers.values())).reshape(300, -1).mean(axis=0)
    expected = game.chances(game.column_mask([half]), NOISES[noise])[0]
    assert means == pytest.approx(expected, abs=1e-9 if noise == "T=0" else 0.12)
    assert np.abs(means - expected).mean() < 0.02


def test_graded_scores_are_fifths_or_tenths():
    game = draw_game("graded", 4, units=15, tasks=40)
    scores = set(FamilyPlayer(game, NOISES["T=.5"], 3).answer(requests_for(game, game.compiled.everything)).values())
    assert all(round(10 * score, 6) % 1 == 0 for score in scores)
    assert scores - {0.0, 1.0}


def test_a_brittle_agent_repeats_itself_and_is_thrown_by_a_change_without_meaning():
    game = draw_game("sparse", 1, units=20, tasks=150)
    player, noise = FamilyPlayer(game, NOISES["brittle"], 3), NOISES["brittle"]
    full, tasks = game.compiled.everything, list(range(150))
    first = player.score([full] * 150, tasks, ["as it is"] * 150)
    assert (player.score([full] * 150, tasks, ["as it is"] * 150) == first).all()
    changed = player.score([full] * 150, tasks, ["a blank line more"] * 150)
    assert 0.01 < (changed != first).mean() < 0.5
    expected = game.chances(game.column_mask([full]), noise)[0]
    assert abs((first + changed).mean() / 2 - expected.mean()) < 0.06


def test_mix_has_steady_and_coin_like_tasks():
    game = draw_game("dense", 1, units=15, tasks=40)
    half = frozenset([game.compiled.trigger, *game.compiled.execution[:7]])
    answers = FamilyPlayer(game, NOISES["mix"], 3).answer(requests_for(game, half, 60))
    spread = np.array(list(answers.values())).reshape(60, -1).std(axis=0)
    assert (spread[::2] == 0).all()
    assert spread[3::4].mean() > 0.3
