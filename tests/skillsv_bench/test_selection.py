"""Skills and versions of a skill are selected on the validation split, and panel B scores the chosen one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillsv.cli.app import run
from skillsv.model.value import Interval
from skillsv_bench.selection import Selection, VersionScore

SKILL = """---
name: knots
description: Answers questions about knots.
---

# Knots

- Say alpha when the question is even.
- Say beta when the question is odd.
- Hum a tune.
"""
AGENT = """
def answer(skill, task, replicate):
    number = int(task.id.partition(":")[2])
    word = "alpha" if number % 2 == 0 else "beta"
    label = next(choice["label"] for choice in task.metadata["choices"] if "right" in choice["text"])
    return f"<answer>{label}</answer>" if skill and word in skill.text else "I do not know."
"""
EDITOR = """
def shorten(files, instruction):
    return {name: data.replace(b"- Hum a tune.\\n", b"") for name, data in files.items()}
"""
SPLITS = {"test": range(1, 27), "val": range(27, 37)}


@pytest.fixture
def place(tmp_path, monkeypatch):
    file = tmp_path / "live" / "data" / "209901" / "qa_209901_final.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([question(number) for numbers in SPLITS.values() for number in numbers]))
    for split, numbers in SPLITS.items():
        manifest = tmp_path / "live" / "splits" / "livemathematicianbench_id_split" / split / "items.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps([{"id": f"209901:{number}"} for number in numbers]))
    for name, text in (("knots", SKILL), ("worse", SKILL.replace("beta", "gamma"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text.replace("name: knots", f"name: {name}"))
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "editor.py").write_text(EDITOR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def question(number):
    wrong = [{"label": label, "text": f"It is {label}{number}."} for label in "BCD"]
    right = {"label": "A", "text": f"It is right, {number}."}
    mcq = {"question": f"What is knot {number}?", "correct_choice": right, "choices": wrong}
    return {"no": number, "month": "209901", "theorem": "hidden", "mcq": mcq}


def bench(capsys, *words, skill="knots", code=0):
    small = ("--checkpoints", "2", "--panel-a", "12", "--panel-b", "14", "--yes", "--quiet", "--json")
    base = ("livemath", "--data", "live", "--skill", skill, "--agent", "python:agent.py:answer")
    assert run(["bench", *base, *small, *words]) == code
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else err


def score(name, value, tokens):
    return VersionScore(name=name, tokens=tokens, score=Interval(value, 0.0, 1.0))


def test_the_highest_score_is_chosen_and_of_equal_ones_the_shortest():
    versions = (score("long", 0.5, 9), score("short", 0.1 + 0.2 + 0.2, 5), score("low", 0.4, 1))
    assert Selection(tasks=10, versions=versions).chosen == "short"
    assert Selection(tasks=10, versions=versions[::2]).chosen == "long"
    assert Selection(tasks=10, versions=(score("first", 0.5, 5), *versions[1:])).chosen == "first"


@pytest.mark.heavy
def test_a_version_is_selected_on_validation_and_scored_once_on_panel_b(place, capsys):
    results = bench(capsys, "--editor", "python:editor.py:shorten")
    selection = results["selection"]
    assert selection["tasks"] == 10
    assert selection["versions"][0]["name"] == "original"
    scores = {version["name"]: version["score"]["value"] for version in selection["versions"]}
    sizes = {version["name"]: version["tokens"] for version in selection["versions"]}
    assert scores["original"] == scores[selection["chosen"]] == 1.0
    assert sizes[selection["chosen"]] < sizes["original"]
    assert selection["confirmation"]["tasks"] == 14
    assert selection["confirmation"]["delta"]["value"] == 0.0
    assert results["skill_selection"] is None
    assert (Path(".skillsv/livemath-knots/results") / "selected.csv").is_file()
    again = bench(capsys, "--editor", "python:editor.py:shorten")
    assert again == results


@pytest.mark.heavy
def test_the_best_of_several_whole_skills_is_valued(place, capsys):
    results = bench(capsys, "--candidate", "knots", skill="worse")
    chosen = results["skill_selection"]
    assert chosen["chosen"] == "knots"
    assert {version["name"]: version["score"]["value"] for version in chosen["versions"]} == {
        "worse": 0.5,
        "knots": 1.0,
    }
    assert results["skill"]["name"] == "knots"
    assert results["valuation"]["anchors"]["full"]["value"] == 1.0


def test_the_forecast_holds_the_cost_of_selection(place, capsys):
    without = bench(capsys, "--plan", "--no-select")["expected"]["rollouts"]
    versions = bench(capsys, "--plan")["expected"]["rollouts"]
    skills = bench(capsys, "--plan", "--candidate", "worse")["expected"]["rollouts"]
    assert versions - without == 5 * 10 + 14  # the original and four pruned versions, then the chosen one on panel B
    assert skills - versions == 10


def test_nothing_is_selected_without_a_validation_split(place, capsys):
    (place / "live/splits/livemathematicianbench_id_split/val/items.json").unlink()
    assert bench(capsys)["selection"] is None
    assert "on the validation split, and there is none" in bench(capsys, "--candidate", "worse", code=2)


def test_a_validation_split_that_cannot_be_read_is_a_note(place, capsys):
    (place / "live/splits/livemathematicianbench_id_split/val/items.json").write_text('[{"id": "209901:99"}]')
    results = bench(capsys)
    assert results["selection"] is None
    assert any(note.startswith("Nothing is selected on the validation split: ") for note in results["notes"])


def test_a_limit_counts_the_rollouts_of_selection(place, capsys):
    said = bench(capsys, "--candidate", "worse", "--max-rollouts", "20", code=4)
    assert "limit" in said
    assert bench(capsys, "--no-select", "--candidate", "worse", code=2)
