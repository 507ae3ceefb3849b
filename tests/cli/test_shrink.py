"""`skillsv shrink` on agents whose answers are known: steady, noisy, deaf and broken ones."""

import json
import sqlite3
import subprocess

import pytest

from skillsv.cli import run

SKILL = """\
---
name: words
description: Words to say.
---

# Words

- Say `alpha` whenever anybody asks for the first of the words.
- Say `beta` whenever anybody asks for the second of the words.
- Speak of `gamma` to nobody, and write of it to nobody either.
- Keep a friendly tone in all letters and do not hurry anybody.
"""

AGENT = '''\
import hashlib
import re

def answer(skill, task, replicate):
    """Says the words of the skill; with a chance of 1 in 20 it says nothing, by a hash of all that it reads."""
    words = " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""
    seed = f"{skill.text if skill else ''} {task.id} {replicate}"
    noise = int(hashlib.sha256(seed.encode()).hexdigest(), 16) % 100
    return words if noise >= NOISE else ""

def deaf(skill, task):
    return "alpha" if len(task.id) % 2 else "beta"

def careless(skill, task, replicate):
    """Ignores the skill; it is right with a chance of 9 in 10."""
    seed = f"{skill.text if skill else ''} {task.id} {replicate} careless"
    return "alpha beta" if int(hashlib.sha256(seed.encode()).hexdigest(), 16) % 10 else ""

def broken(skill, task):
    raise ValueError("no connection")
'''


@pytest.fixture
def place(tmp_path):
    """A skill with two useless bullets, its agents, and 120 tasks."""
    skill = tmp_path / "words"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    for name, noise in (("steady", 0), ("noisy", 5)):
        (tmp_path / f"{name}.py").write_text(AGENT.replace("NOISE", str(noise)))
    lines = [
        {
            "id": f"t{n:03d}",
            "input": "?",
            "target": ["alpha", "beta"][n % 2],
            "verifier": "contains",
            "stratum": str(n % 3),
        }
        for n in range(120)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def shrink(place, *flags, agent="steady.py:answer", rollouts=500):
    return run(
        ["shrink", str(place / "words"), "--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/{agent}",
         "--run-dir", str(place / "run"), "--max-rollouts", str(rollouts), "--quiet", "--json", *flags]
    )  # fmt: skip


@pytest.mark.heavy
def test_a_steady_agent_gets_a_shorter_skill_a_patch_and_markdown(place, capsys):
    code = shrink(place, "-o", str(place / "short"), "--markdown", str(place / "pr.md"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"], result["noisy"]) == (0, "no worse", False)
    text = (place / "short/SKILL.md").read_text()
    assert "alpha" in text
    assert "beta" in text
    assert "gamma" not in text
    assert "friendly" not in text
    assert sum(result["rollouts"][what] for what in ("values", "trials", "proof")) <= 500
    subprocess.run(["git", "apply", "--check", str(place / "short.patch")], cwd=place / "words", check=True)
    assert "tokens of the skill" in (place / "pr.md").read_text()
    assert (place / "run/report.html").exists()
    assert json.loads((place / "run/confirmation.json").read_text())["outcome"] == "no worse"


@pytest.mark.heavy
def test_the_same_command_again_pays_nothing(place, capsys):
    assert shrink(place) == 0
    first = json.loads(capsys.readouterr().out)
    paid = len(stored(place))
    assert shrink(place) == 0
    assert json.loads(capsys.readouterr().out)["sets"] == first["sets"]
    assert len(stored(place)) == paid <= 500


def stored(place):
    """The keys of all rollouts that were paid for."""
    connection = sqlite3.connect(place / "run/ledger.sqlite")
    rows = connection.execute("select key from rollout").fetchall()
    connection.close()
    return rows


@pytest.mark.heavy
def test_a_kept_unit_stays(place, capsys):
    assert shrink(place, "--keep", "words/bullet-3") == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["removed"]) == 1
    assert shrink(place, "--keep", "nothing-*") == 2


@pytest.mark.heavy
def test_a_noisy_agent_is_shrunk_by_the_posterior(place, capsys):
    code = shrink(place, "--max-drop", "15", agent="noisy.py:answer", rollouts=600)
    result = json.loads(capsys.readouterr().out)
    assert result["noisy"]
    assert (code, result["outcome"]) == (0, "no worse")
    removed = " ".join(result["removed"])
    assert len(result["removed"]) == 2, removed


def test_too_little_power_stops_after_the_first_batch_and_says_why_as_json(place, capsys, validate):
    code = shrink(place, "--max-drop", "2", agent="noisy.py:answer", rollouts=300)
    output, error = capsys.readouterr()
    assert code == 3
    result = json.loads(output)
    validate(result)
    assert (result["outcome"], result["removed"], result["sets"]) == ("not shown", [], [])
    assert (result["noisy"], result["tokens_after"]) == (True, result["tokens_before"])
    assert result["power"] < 0.5
    assert result["rollouts"] == {"budget": 300, "values": 60, "trials": 0, "proof": 0}
    assert "less than even odds" in result["stopped"]["reason"]
    assert any("--max-drop" in option for option in result["stopped"]["would_help"])
    assert "less than even odds" in error
    assert "--max-drop" in error
    assert not (place / "run/shrink.json").exists()


@pytest.mark.parametrize(
    ("agent", "word"), [("steady.py:deaf", "made no difference"), ("steady.py:broken", "no connection")]
)
def test_an_agent_that_ignores_the_skill_or_fails_ends_after_the_first_batch(place, capsys, agent, word):
    code = shrink(place, "-o", str(place / "short"), "--attempts", "1", agent=agent)
    assert code == 5
    assert word in capsys.readouterr().err
    assert not (place / "short").exists()


def test_a_noisy_agent_that_ignores_the_skill_ends_before_any_value(place, capsys):
    code = shrink(place, "-o", str(place / "short"), agent="steady.py:careless", rollouts=800)
    assert code == 5
    assert "no difference that can be told from noise" in " ".join(capsys.readouterr().err.split())
    assert not (place / "short").exists()
    assert 90 < len(stored(place)) <= 90 + 120
    assert shrink(place, agent="steady.py:careless", rollouts=800) == 5
    assert len(stored(place)) <= 90 + 120


def test_the_second_look_at_the_content_stays_within_the_limit(place, capsys):
    assert shrink(place, agent="steady.py:careless", rollouts=95) == 5
    result = json.loads(capsys.readouterr().out)
    assert result["rollouts"]["values"] == len(stored(place)) == 94


@pytest.mark.heavy
def test_the_same_tasks_prove_it_for_these_tasks_alone(place, capsys):
    code = shrink(place, "--same-tasks", "--max-drop", "10", agent="noisy.py:answer", rollouts=700)
    result = json.loads(capsys.readouterr().out)
    assert result["claim"] == "these tasks"
    assert result["sets"][0]["proof"]["pairs"] > 0
    assert code in {0, 3}
    assert (code == 0) == (result["outcome"] == "no worse")


@pytest.mark.heavy
def test_the_same_tasks_prove_it_for_a_steady_agent(place, capsys):
    lines = (place / "tasks.jsonl").read_text().splitlines(keepends=True)
    (place / "tasks.jsonl").write_text("".join(lines[:30]))
    code = shrink(place, "--same-tasks", "--max-drop", "10", rollouts=400)
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"]) == (0, "no worse")
    assert result["sets"][0]["proof"]["pairs"] >= 60
    assert 398 <= sum(result["rollouts"][what] for what in ("values", "trials", "proof")) <= 400  # nothing is left over


def edited_by(place, old, new):
    """An editor that replaces words of the shorter skill."""
    body = 'text = files["SKILL.md"].decode()\n    assert "gamma" not in text\n    '
    body += f'return {{"SKILL.md": text.replace({old!r}, {new!r})}}'
    (place / "editor.py").write_text(f"def edit(files, instruction):\n    {body}\n")
    return f"python:{place}/editor.py:edit"


@pytest.mark.heavy
def test_an_editor_shortens_what_is_left_and_the_proof_is_of_its_text(place, capsys):
    editor = edited_by(place, " whenever anybody asks for the first of the words", "")
    code = shrink(place, "--refine", editor, "-o", str(place / "short"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"], result["refined"]) == (0, "no worse", True)
    text = (place / "short/SKILL.md").read_text()
    assert "- Say `alpha`.\n" in text
    assert "gamma" not in text
    subprocess.run(["git", "apply", "--check", str(place / "short.patch")], cwd=place / "words", check=True)


@pytest.mark.heavy
def test_an_editor_that_breaks_the_skill_is_found_out_by_the_proof(place, capsys):
    code = shrink(place, "--refine", edited_by(place, "Say `alpha`", "Say nothing"), "-o", str(place / "short"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"]) == (3, "worse")
    assert not (place / "short").exists()
