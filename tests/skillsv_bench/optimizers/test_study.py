"""The comparison of an optimizer with itself: both play within the same total, and pairs are averaged."""

import pytest

from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers import study
from skillsv_bench.optimizers.growth import SEED_TEXT, GrowthGame
from skillsv_bench.optimizers.play import Grown

GAMES = [GrowthGame(seed=seed, topics=4, easy=0.5) for seed in (7, 8)]
HELPS = "- [helps-2-1] Rule of topic 2.\n- [helps-3-2] Rule of topic 3.\n"
DEAD = "- [dead-0-3] Remark.\n- [dead-1-4] Remark.\n- [harms-0-5] Never answer.\n"


@pytest.fixture
def totals(monkeypatch):
    seen = []

    def play(game, budget, policy):
        seen.append((game.seed, budget, policy and policy.total))
        text = SEED_TEXT + HELPS + ("" if policy else DEAD)
        return Grown(text=text, calls=budget, pruning=100 if policy else 0)

    monkeypatch.setattr(study, "find_play", lambda _name: play)
    return seen


def test_an_optimizer_and_its_pruned_self_play_each_game_within_the_same_total(totals):
    played = list(study.play_games(["gepa"], GAMES, 1500, PrunePolicy(), tell=lambda _: None))
    assert totals == [(7, 1500, None), (7, 1500, 1500), (8, 1500, None), (8, 1500, 1500)]
    assert [each.pruned for each in played] == [False, True, False, True]


@pytest.mark.usefixtures("totals")
def test_pairs_of_games_are_averaged():
    (row,) = study.compare(list(study.play_games(["gepa"], GAMES, 1500, PrunePolicy(), tell=lambda _: None)))
    assert row.games == 2
    assert (row.score_alone, row.score_change, row.score_change_se) == (0.75, 0.25, 0.0)
    assert (row.useless_alone, row.useless_ratio) == (4, 0.25)
    assert 0.3 < row.token_ratio < 0.7
    assert (row.calls, row.pruning) == (1500, 100)
