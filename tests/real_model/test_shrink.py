"""`shrink` of `examples/faq` with a real language model: distractors go, facts that are asked for stay, and it is proven."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import skillsv as sv
from skillsv.cli import run

FULL = os.environ.get("SKILLSV_REAL_MODEL") == "full"
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(not FULL, reason="takes both cores for minutes: make real-model")]

PACKAGES = ("pydantic_ai",)

EXAMPLE = Path(__file__).parents[2] / "examples" / "faq"
SEEDS = (1, 2)
BUDGET = 600
FACTS = 10


@pytest.mark.parametrize("seed", SEEDS)
def test_distractors_go_and_facts_stay(server, seed, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code = run(
        ["shrink", str(EXAMPLE), "--tasks", str(EXAMPLE / "evals/tasks.jsonl"), "--agent", "model:openai:smollm2",
         "--base-url", server.base_url, "--tools", "none", "--max-output-tokens", "32", "--cut-answers", "score",
         "--same-tasks",
         "--max-drop", "10", "--max-rollouts", str(BUDGET), "--seed", str(seed), "--jobs", "2",
         "--run-dir", str(tmp_path / "run"), "-o", str(tmp_path / "short"), "--json", "--quiet"]
    )  # fmt: skip
    result = json.loads(capsys.readouterr().out)
    with capsys.disabled():
        sys.stdout.write(f"{json.dumps(result, indent=1)}\n")
    assert (code, result["outcome"]) == (0, "no worse")
    assert sum(result["rollouts"][what] for what in ("values", "trials", "proof")) <= BUDGET
    short = (tmp_path / "short/SKILL.md").read_text()
    bullets = [line for line in (EXAMPLE / "SKILL.md").read_text().splitlines() if line.startswith("- ")]
    used = used_facts(tmp_path / "run")
    assert any(distractor not in short for distractor in bullets[FACTS:])
    assert [fact for fact in bullets[:FACTS] if fact not in short and fact in used] == []


def used_facts(folder):
    """The facts with which the model solves one of their questions: the strata stand in the order of the facts."""
    tasks = [json.loads(line) for line in (EXAMPLE / "evals/tasks.jsonl").read_text().splitlines()]
    strata = list(dict.fromkeys(task["stratum"] for task in tasks))
    bullets = [line for line in (EXAMPLE / "SKILL.md").read_text().splitlines() if line.startswith("- ")]
    stored = sv.load_run(folder).stored
    solved = {item.task for item in stored.observations if item.coalition == stored.compiled.everything and item.score}
    return {bullets[strata.index(task["stratum"])] for task in tasks if task["id"] in solved}
