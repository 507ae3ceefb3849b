"""Repeats of an adaptive run: over sizes and tasks, each once, a small share of the rollouts."""

from collections import Counter

import pytest

from skillsv.model.task_table import TaskTable
from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts
from skillsv.rollout.adaptive.repeat_sampler import REPEATED_SHARE, RepeatSampler
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

UNITS = 9
SIZES = {0: 0b0, 1: 0b1, 4: 0b1111, 8: 0b11111111, 9: 0b111111111}


def make_tables(tasks=20):
    tables = [TaskTable() for _ in range(tasks)]
    for table in tables:
        for mask in SIZES.values():
            table.add(mask, (1.0,))
    return tables


def play(kind, noise, seed, budget=400):
    game = planted_skill(kind, seed)
    options = AdaptiveOptions(stop=MaxRollouts(budget))
    return play_adaptive(make_adaptive_problem(game), Player(game, noise, seed), options, seed)


def test_repeats_go_to_all_sizes_and_tasks_in_turn():
    places = RepeatSampler(UNITS, 1).draw(make_tables(), rollouts=1000, differing=0)
    assert len(places) == len(set(places)) == 40
    assert set(Counter(mask.bit_count() for _, mask in places).values()) == {8}
    assert max(Counter(task for task, _ in places).values()) <= 4
    assert len({task for task, _ in places}) >= 15


def test_no_more_repeats_are_drawn_than_are_due():
    sampler, tables = RepeatSampler(UNITS, 1), make_tables()
    assert len(sampler.draw(tables, rollouts=100, differing=0)) == 4
    assert sampler.draw(tables, rollouts=120, differing=0) == []
    assert len(sampler.draw(tables, rollouts=120, differing=1)) == 20, "a difference is followed up at once"
    assert len(sampler.draw(tables, rollouts=10**6, differing=1)) == 76, "each score is repeated at most once"


def test_every_other_repeat_goes_to_a_score_that_no_other_confirms():
    tables = make_tables()
    tables[7].add(0b1011, (0.0,))
    tables[7].add_deciding([2])
    assert tables[7].unconfirmed() == []
    tables[7].add_deciding([8])
    alone = tables[7].unconfirmed()
    assert alone == [0b111111111]
    assert (7, alone[0]) in RepeatSampler(UNITS, 1).draw(tables, rollouts=50, differing=0)


@pytest.mark.parametrize("kind", ["mechanism", "livemath"])
def test_repeats_of_a_steady_agent_cost_at_most_their_share(kind):
    record = play(kind, Noise(), 1)
    assert not record.noisy
    contradictions = play_without_samples(kind)
    drawn = sum(item.why == "repeat" for item in record.observations) - contradictions
    assert 8 <= drawn <= REPEATED_SHARE * 400
    assert "no score changed" in record.noise_sentence()
    assert len({task for _, _, task in record.noise.repeated}) >= 8
    assert len({len(coalition) for coalition, _, _ in record.noise.repeated}) >= 5


def play_without_samples(kind):
    """Repeats of contradicted scores: those of a run in which the kind of agent is known."""
    game = planted_skill(kind, 1)
    options = AdaptiveOptions(stop=MaxRollouts(400), agent="deterministic")
    record = play_adaptive(make_adaptive_problem(game), Player(game, Noise(), 1), options, 1)
    return sum(item.why == "repeat" for item in record.observations)


def test_repeats_do_not_change_which_coalitions_a_steady_agent_is_asked():
    game = planted_skill("livemath", 1)
    known, unknown = (
        play_adaptive(
            make_adaptive_problem(game),
            Player(game, Noise(), 1),
            AdaptiveOptions(stop=MaxRollouts(budget), agent=agent),
            1,
        )
        for agent, budget in (("deterministic", 400), ("unknown", 500))
    )
    first, second = (
        [
            (item.coalition, item.task)
            for item in record.observations
            if item.why not in {"repeat", "anchor:null-change", "anchor:trigger", "anchor:full"}
        ]
        for record in (known, unknown)
    )
    assert second[: len(first)] == first


@pytest.mark.heavy
def test_faint_noise_is_called_noise_in_most_short_runs():
    found = [play("livemath", Noise(temperature=0.25), seed).noisy for seed in range(7000, 7030)]
    assert sum(found) >= 27, f"{sum(found)} of 30 runs of 400 rollouts"
