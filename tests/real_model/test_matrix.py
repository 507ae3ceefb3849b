"""`matrix` of `examples/faq` with a real language model and a scripted agent: the page shows where they differ."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from skillsv.cli import run

FULL = os.environ.get("SKILLSV_REAL_MODEL") == "full"
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(not FULL, reason="takes both cores for minutes: make real-model")]

PACKAGES = ("pydantic_ai",)

EXAMPLE = Path(__file__).parents[2] / "examples" / "faq"
BUDGET = 660  # half of it is for the model: the least for a whole answer
MODEL = "model:openai:smollm2"
KNOWN = {"Kelpmas", "Brack", "Pocketwatch"}

SCRIPTED = '''\
import re

KNOWN = {"festival": "Kelpmas", "lighthouse": "Ottoline Brack", "cat": "Pocketwatch"}
COMMON = set("the of is a in to what who which at on and i it that called named name quillmouth town".split())

def words(text):
    return {word.rstrip("s") for word in re.findall("[a-z]+", text.lower())} - COMMON

def answer(skill, task):
    """Knows three facts by heart, finds the others in the skill, and keeps silent about the night if told to."""
    text = skill.text if skill else ""
    if "night market" in task.input and "keep your voice down" in text:
        return "Hush."
    for topic, known in KNOWN.items():
        if topic in words(task.input):
            return known
    facts = [line for line in text.splitlines() if line.startswith("- ")]
    best = max(facts, key=lambda fact: len(words(fact) & words(task.input)), default="")
    return best if words(best) & words(task.input) else "?"
'''


def test_the_page_shows_where_a_real_model_and_a_script_differ(server, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "scripted.py").write_text(SCRIPTED)
    code = run(
        ["matrix", str(EXAMPLE), "--tasks", str(EXAMPLE / "evals/tasks.jsonl"),
         "--agents", f"{MODEL},python:{tmp_path}/scripted.py:answer",
         "--base-url", server.base_url, "--tools", "none", "--max-output-tokens", "32", "--cut-answers", "score",
         "--panel-b", "0", "--max-rollouts", str(BUDGET), "--jobs", "2", "--run-dir", str(tmp_path / "run"),
         "--json", "--quiet"]
    )  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    with capsys.disabled():
        sys.stdout.write(f"{json.dumps(found['units'], indent=1)}\n")
    assert code == 0
    assert sum(agent["rollouts"]["spent"] for agent in found["agents"]) <= BUDGET
    differing = [unit for unit in found["units"] if unit["disagree"]]
    assert differing, "no difference between the agents is shown"
    # The model needs the facts that the script knows by heart.
    assert any(known in unit["text"] for unit in differing for known in KNOWN)
    for unit in found["units"]:
        model, script = (cell["effect"] for cell in unit["cells"])
        assert model != "harms" or script != "helps", "no fact helps the script and harms the model"
        assert script != "helps" or not any(known in unit["text"] for known in KNOWN)
    assert (tmp_path / "run/matrix.html").read_text().count("≠") >= len(differing)
