"""Planted games: the compiler sees the skill as meant, the text-reading agent and the arrays agree, truth is exact."""

from collections import Counter
from itertools import permutations

import anyio
import numpy as np
import pytest

from skillsv.agents.planted import make_planted
from skillsv.compiler import compile_skill
from skillsv.errors import SettingsError
from skillsv.estimate import estimate_chains
from skillsv.model.coalition import Operator
from skillsv.order import Sampler
from skillsv.rendering import Renderer
from skillsv.tasks import load_tasks
from skillsv_bench.planted import (
    KINDS,
    Noise,
    SharedNoise,
    make_plans,
    planted_skill,
    play,
    record_chains,
    simulate,
    write_game,
)
from skillsv_bench.planted.game import TARGETS, Role
from skillsv_bench.planted.simulate import as_columns

SIZES = {"mechanism": 7, "livemath": 16, "officeqa": 25, "spreadsheet": 49, "alfworld": 48}


@pytest.mark.parametrize("kind", KINDS)
def test_the_real_compiler_gives_one_unit_a_mark(kind):
    game = planted_skill(kind, 3)
    assert len(game.compiled.execution) == SIZES[kind]
    assert sorted(game.unit_of.values()) == sorted(game.compiled.execution)
    assert game.compiled.findings == ()
    if kind != "mechanism":
        rules = Counter(edge.rule for edge in game.compiled.edges)
        assert rules["R9"] > 0  # lead-ins
        assert rules["R1"] > 0  # references across sections


@pytest.mark.parametrize("kind", list(TARGETS))
def test_scores_meet_the_papers_table(kind):
    game, target = planted_skill(kind, 7), TARGETS[kind]
    ends = np.array([[False], [True]]).repeat(len(game.compiled.execution), axis=1)
    trigger, full = game.chances(ends, Noise()).mean(axis=1)
    half_a_task = 0.5 / target.tasks + 1e-9
    assert len(game.tasks) == target.tasks
    assert trigger == pytest.approx(target.trigger, abs=half_a_task)
    assert full == pytest.approx(target.full, abs=half_a_task)
    assert (game.features.bare > 0).mean() == pytest.approx(target.empty, abs=half_a_task)
    assert len({task.stratum for task in game.tasks}) > 1
    assert set(game.roles.values()) == set(Role)


def test_the_same_seed_gives_the_same_game():
    assert planted_skill("officeqa", 4).tasks == planted_skill("officeqa", 4).tasks
    assert planted_skill("officeqa", 4).tasks != planted_skill("officeqa", 5).tasks


@pytest.mark.parametrize("kind", ["mechanism", "livemath", "spreadsheet"])
@pytest.mark.parametrize("operator", list(Operator))
def test_the_agent_that_reads_the_text_agrees_with_the_arrays(kind, operator, tmp_path):
    game, rng = planted_skill(kind, 2), np.random.default_rng(1)
    renderer, agent = Renderer(game.compiled), make_planted(Noise().agent)
    for order in Sampler(game.compiled).orders(rng, 2):
        for length in range(1, len(order) + 1, 3):
            kept = frozenset(order[:length])
            expected = game.chances(game.column_mask([kept]), Noise())[0]
            rendering = renderer.render(kept, operator)
            for task, score in zip(game.tasks[::7], expected[::7], strict=True):
                outcome = anyio.run(agent.run, rendering, task, 0, tmp_path)
                assert (outcome.answer == task.target) == bool(score)


def test_truth_is_the_mean_over_all_orders_of_a_small_game():
    game, noise = planted_skill("mechanism"), Noise(temperature=0.5)
    blocks = ((0, 1), (2, 3), (4, 5, 6))
    total, count = np.zeros(7), 0
    for outer in permutations(blocks):
        for inner in _products([list(permutations(block)) for block in outer]):
            order = [unit for block in inner for unit in block]
            prefixes = np.array([[unit in order[:length] for unit in range(7)] for length in range(8)])
            total[order] += np.diff(game.chances(prefixes, noise).mean(axis=1))
            count += 1
    assert game.truth(noise) == pytest.approx(total / count, abs=1e-12)
    assert game.truth(Noise()) == pytest.approx([0.125, 0.125, 0.125, 0.125, 0.25, -0.25, 0.0], abs=1e-12)


def _products(lists):
    if not lists:
        yield ()
        return
    for first in lists[0]:
        for rest in _products(lists[1:]):
            yield (first, *rest)


@pytest.mark.parametrize("tolerance", [None, 0.05, 0.2])
@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5), Noise(lapse=0.08)])
def test_arrays_records_and_the_real_policy_agree(tolerance, noise):
    game, rng = planted_skill("livemath", 1), np.random.default_rng(5)
    plans, shared_noise = make_plans(game, rng, chains=4, window=8, tolerance=tolerance), SharedNoise.draw(game, rng)
    records = record_chains(game, plans, noise=noise, shared_noise=shared_noise)
    assert records == play(game, plans, noise=noise, shared_noise=shared_noise)
    number = {task.id: place for place, task in enumerate(game.tasks)}
    windows = np.array([[number[task] for task in plan.window.tasks] for plan in plans])
    orders = as_columns(game, [plan.order for plan in plans])
    played = simulate(game, orders, windows, noise=noise, shared_noise=shared_noise, tolerance=tolerance)
    estimate = estimate_chains(game.compiled, records)
    assert [unit.net_or_zero.value for unit in estimate.units] == pytest.approx(
        played.change.mean(axis=0).tolist(), abs=1e-12
    )
    inner = len(game.compiled.execution) - 1
    assert estimate.truncation_share == pytest.approx(played.evaluated.mean() / inner)


def test_luck_is_fair_and_shared_by_equal_prompts():
    game, rng = planted_skill("livemath", 1), np.random.default_rng(5)
    shared_noise = SharedNoise.draw(game, rng)
    orders = as_columns(game, list(Sampler(game.compiled).orders(rng, 200)))
    windows = np.tile(np.arange(len(game.tasks)), (200, 1))
    draws = shared_noise.draw_for_prefixes(orders, windows)
    assert np.ptp(draws[:, 0], axis=0).max() == 0.0
    assert np.ptp(draws[:, -1], axis=0).max() == 0.0
    middle = draws[:, 5].ravel()
    assert middle.mean() == pytest.approx(0.5, abs=0.02)
    assert middle.std() == pytest.approx(12**-0.5, abs=0.02)


def test_a_written_game_reads_back(tmp_path):
    game = planted_skill("officeqa", 2)
    folder = write_game(game, tmp_path)
    assert [unit.id for unit in compile_skill(folder).units] == [unit.id for unit in game.compiled.units]
    loaded = load_tasks(tmp_path / "tasks.jsonl")
    assert [task.id for task in loaded] == [task.id for task in game.tasks]
    assert [dict(task.metadata) for task in loaded] == [dict(task.metadata) for task in game.tasks]


def test_unknown_games_are_refused():
    with pytest.raises(SettingsError, match="no planted game 'x'"):
        planted_skill("x")
