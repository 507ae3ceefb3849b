"""Agents without a model, on toy games; and what is said where the environment is not installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import msgspec
import pytest

from skillsv.agents import AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.task import Task
from skillsv_bench.alfworld import BENCHMARK
from skillsv_bench.alfworld.games import open_games, scripted_games


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "game.tw-pddl"
    words = {"pddl_domain": "", "pddl_problem": "", "grammar": "", "walkthrough": ["go", "win"]}
    file.write_text(json.dumps(words))
    return Task(id="t", input="Your task is to: put a cup on shelf.", target=str(file))


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr("skillsv_bench.alfworld.games.find_spec", lambda _: object())


def actions(name: str, task: Task, games, replicate: int = 0) -> list[str]:
    agent = replace(BENCHMARK.make_agent(name, AgentOptions()), games=games)
    outcome = anyio.run(lambda: agent.run(None, task, replicate, Path()))
    return msgspec.json.decode(outcome.answer)["actions"]


@pytest.mark.usefixtures("installed")
def test_the_reference_follows_the_walkthrough_and_the_noop_looks(task, toy_games):
    games = toy_games()
    assert actions("reference", task, games) == ["go", "win"]
    assert actions("noop", task, games) == ["look"] * 50


@pytest.mark.usefixtures("installed")
def test_chance_depends_on_the_task_and_the_replicate_alone(task, toy_games):
    games = toy_games()
    first = actions("random", task, games)
    assert set(first) <= {"look", "win"}
    assert actions("random", task, games) == first
    others = [actions("random", replace(task, id=f"{n}"), games) for n in range(4)]
    others += [actions("random", task, games, replicate=n) for n in range(1, 5)]
    assert any(other != first for other in others)


@pytest.mark.usefixtures("installed")
def test_the_follower_of_rules_without_a_skill_only_looks(task, toy_games):
    assert actions("rules", task, toy_games()) == ["look"] * 50


@pytest.mark.parametrize("games", [open_games, scripted_games])
def test_without_the_environment_it_is_said_what_to_install(games, monkeypatch):
    monkeypatch.setattr("skillsv_bench.alfworld.games.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install 'skillsv\[alfworld\]'"):
        games.__wrapped__()
