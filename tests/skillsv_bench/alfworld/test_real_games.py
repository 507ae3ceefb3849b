"""The real games: walkthroughs win, looking wins nothing, warm is as fresh, and a skill's real value is found."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import anyio
import numpy as np
import pytest

from skillsv.model.skill import CompiledSkill
from skillsv.order import Sampler
from skillsv.pipeline import ValuationJob, build_valuation, prepare, run_rollouts
from skillsv.pipeline.build_valuation import text_of
from skillsv.rollout import RunFolder, Stop
from skillsv.settings import load_settings
from skillsv_bench.alfworld import BENCHMARK
from skillsv_bench.alfworld.games import Games, scripted_games
from skillsv_bench.alfworld.policy import COMPETENCES
from skillsv_bench.alfworld.rules import find_needed_competences, read_competences, wins
from skillsv_bench.alfworld.tasks import STEPS, load
from skillsv_bench.benchmark import Source
from skillsv_bench.check import check
from skillsv_bench.registry import find_source

pytestmark = pytest.mark.heavy

ROLLOUTS = 8000
"""Twice and more of what the forecast asks for: episodes that repeat known actions cost next to nothing."""

SKILL = "corpus/optimized/microsoft__SkillOpt__ckpt-alfworld-gpt5.5"
ORDERS = 4000


@pytest.fixture
def loaded(shared):
    pytest.importorskip("textworld", reason="the extra [alfworld] is not installed")
    pytest.importorskip("alfworld", reason="the extra [alfworld] is not installed")
    return load(Source(data=shared / "benchmarks" / "alfworld"))


def silent(_event) -> None:
    return None


def test_every_walkthrough_wins_and_looking_wins_nothing(loaded):
    found = anyio.run(lambda: check(BENCHMARK, loaded, jobs=4, listener=silent))
    assert len(found["reference"].passed) == 57
    assert found["reference"].failed == ()
    assert found["noop"].passed == ()


async def scenes(games: Games, file: Path, actions: list[str]) -> list:
    async with games.episode(file) as episode:
        seen = [episode.scene]
        seen += [await episode.act(action) for action in actions if not episode.over]
        return seen


async def wandered(games: Games, file: Path, seed: int) -> list[str]:
    """Actions of a player who does anything, also what is not admitted."""
    chance = Random(seed)
    async with games.episode(file) as episode:
        while len(episode.actions) < STEPS // 2 and not episode.over:
            await episode.act(chance.choice([*episode.scene.actions, "put apple 1 in/on desk 1"]))
        return episode.actions


def test_reused_and_cached_episodes_equal_those_of_a_new_process(loaded):
    plain = (sys.executable, str(Path(__file__).with_name("plain_worker.py")))
    kinds = {task.stratum: task for task in loaded.tasks}
    assert len(kinds) == 6
    warm, memory = Games(slots=1, cached_scenes=0), Games(slots=1)

    async def run():
        for number, task in enumerate(kinds.values()):
            file = Path(task.target)
            actions = await wandered(warm, file, number)
            fresh = Games(program=plain)
            expected = await scenes(fresh, file, actions)
            fresh.close()
            assert await scenes(warm, file, actions) == expected
            assert await scenes(memory, file, actions) == expected
            assert await scenes(memory, file, actions) == expected

    anyio.run(run)
    warm.close()
    memory.close()


def true_values(compiled: CompiledSkill, needed: list[frozenset[str]]) -> dict[str, float]:
    """phi(mu): how often a unit is the one that completes what a game needs, over many orders."""
    teaches = {unit: read_competences(text_of(compiled, unit)) for unit in compiled.execution}
    sampler, rng = Sampler(compiled), np.random.default_rng(0)
    values: Counter[str] = Counter()
    for _ in range(ORDERS):
        order, place = sampler.sample(rng), {}
        for position, unit in enumerate(order):
            place |= {name: position for name in teaches.get(unit, ()) if name not in place}
        values.update(order[max(place[name] for name in need)] for need in needed)
    return {unit: values[unit] / ORDERS / len(needed) for unit in compiled.execution}


async def all_needs(tasks) -> dict[str, frozenset[str]]:
    found, room = {}, anyio.CapacityLimiter(4)

    async def one(task) -> None:
        async with room:
            found[task.id] = await find_needed_competences(task, scripted_games())

    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(one, task)
    return found


def valued(skill: Path, data: Path, folder: Path):
    """A full valuation through the ordinary pipeline."""
    settings = load_settings(skill, {"method": "auto", "panel_b": 0, "jobs": 4, "max_rollouts": ROLLOUTS})
    job = ValuationJob(
        skill=skill,
        tasks=data,
        agent="rules",
        settings=settings,
        folder=folder,
        task_source=find_source("alfworld", "all"),
    )
    prepared = prepare(job)
    rolled = anyio.run(lambda: run_rollouts(prepared, RunFolder(folder / "run"), silent, Stop()))
    return prepared, rolled, build_valuation(prepared.compiled, settings, "rules", rolled)


def test_a_full_valuation_finds_the_units_that_real_games_need(loaded, shared, tmp_path, capsys):
    """Intervals hold the true values, no useless unit is shown to help, and most of the units that help are shown.

    Not all: many units teach the same thing, so a unit behind another one stays hidden for long, and intervals say so.
    """
    started = time.monotonic()
    prepared, rolled, valuation = valued(shared / SKILL, shared / "benchmarks" / "alfworld", tmp_path)
    took = time.monotonic() - started
    assert rolled.error is None
    assert rolled.spending.failed == 0
    assert valuation.estimate.anchors.full.value == 1.0
    assert valuation.estimate.anchors.empty.value == 0.0

    needed = anyio.run(all_needs, loaded.tasks)
    truth = true_values(prepared.compiled, list(needed.values()))
    planted = {unit for unit, value in truth.items() if value > 0}
    with capsys.disabled():
        sys.stdout.write(
            f"\n{rolled.spending.spent} rollouts of real games in {took:.0f} s; {_table(valuation, truth)}\n"
        )
    assert len(planted) == 10
    for unit in valuation.units:
        on_panel = unit.value.on_panel
        assert on_panel.value == pytest.approx(truth[unit.id], abs=0.05), unit.id
        assert on_panel.low <= truth[unit.id] <= on_panel.high, (unit.id, on_panel)
    shown = {unit.id for unit in valuation.units if unit.value.on_panel.low > 0}
    assert shown <= planted
    assert len(shown) >= len(planted) - 2


def _table(valuation, truth) -> str:
    rows = [f"{unit.id} {unit.value.net.value:+.3f} (true {truth[unit.id]:.3f})" for unit in valuation.units]
    return "\n".join(["", *(row for row in rows if "true 0.000" not in row)])


def test_a_game_is_won_exactly_with_all_that_it_needs(loaded):
    """So `needs` and `competences` tell the whole game: the true value of any skill can be computed from them."""
    some = loaded.tasks[::8]
    games = scripted_games()

    async def run():
        for task in some:
            need, chance = await find_needed_competences(task, games), Random(task.id)
            assert need
            assert need <= set(COMPETENCES)
            assert await wins(task, games, need)
            for _ in range(6):
                can = frozenset(name for name in COMPETENCES if name == "format" or chance.random() < 0.8)
                assert await wins(task, games, can) == (need <= can), (task.id, need, can)

    anyio.run(run)
