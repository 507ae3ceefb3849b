"""`skillsv shrink --agents` on agents whose answers are known: a line that only one of them needs must stay."""

import html
import json
import re
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

AGENTS = '''\
import hashlib
import re

def words(skill):
    return " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""

def small(skill, task):
    """Needs alpha and beta."""
    return words(skill)

def large(skill, task):
    """Needs alpha alone: it knows beta."""
    return words(skill) + " beta"

def noisy(skill, task, replicate):
    """Needs alpha and beta; with a chance of 1 in 20 it says nothing, by a hash of all that it reads."""
    seed = f"{skill.text if skill else ''} {task.id} {replicate}"
    return words(skill) if int(hashlib.sha256(seed.encode()).hexdigest(), 16) % 20 else ""

def tender(skill, task):
    """Needs alpha, and on a few tasks that no value is estimated on the friendly tone."""
    if task.id in HELD_OUT and not (skill and "friendly" in skill.text):
        return ""
    return words(skill) + " beta"

def deaf(skill, task):
    return "alpha" if len(task.id) % 2 else "beta"

def broken(skill, task):
    raise ValueError("no connection")
'''


@pytest.fixture
def place(tmp_path):
    """A place of its own for a test."""
    return make_place(tmp_path)


@pytest.fixture(scope="module")
def shrunk(tmp_path_factory):
    """A place where the skill was made shorter for both agents, with the exit code."""
    place = make_place(tmp_path_factory.mktemp("shrunk"))
    return place, shrink(place, "-o", str(place / "short"), "--markdown", str(place / "pr.md"))


def make_place(tmp_path):
    """A skill with two useless bullets, one that only some agents need, and 120 tasks."""
    skill = tmp_path / "words"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    write_agents(tmp_path, held_out=[])
    lines = [
        {"id": f"t{n:03d}", "input": "?", "target": ["alpha", "beta"][n % 2], "verifier": "contains"}
        for n in range(120)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def write_agents(place, held_out):
    (place / "agents.py").write_text(AGENTS.replace("HELD_OUT", repr(set(held_out)) if held_out else "set()"))


def shrink(place, *flags, agents=("small", "large"), rollouts=900):
    named = ",".join(f"python:{place}/agents.py:{name}" for name in agents)
    return run(
        ["shrink", str(place / "words"), "--tasks", str(place / "tasks.jsonl"), "--agents", named,
         "--run-dir", str(place / "run"), "--max-rollouts", str(rollouts), "--quiet", "--json", *flags]
    )  # fmt: skip


def shown_for(result):
    """The outcome of the last proof of each agent, by the name of its function."""
    return {agent["name"].rpartition(":")[2]: agent["sets"][-1]["outcome"] for agent in result["agents"]}


def paid(place):
    connection = sqlite3.connect(place / "run/ledger.sqlite")
    rows = connection.execute("select key from rollout").fetchall()
    connection.close()
    return len(rows)


def test_a_line_that_one_agent_needs_stays_and_useless_ones_go(shrunk, validate):
    place, code = shrunk
    result = json.loads((place / "run/shrink.json").read_text())
    validate(result)
    assert (code, result["outcome"], shown_for(result)) == (0, "no worse", {"small": "no worse", "large": "no worse"})
    text = (place / "short/SKILL.md").read_text()
    assert "alpha" in text
    assert "beta" in text
    assert "gamma" not in text
    assert "friendly" not in text
    subprocess.run(["git", "apply", "--check", str(place / "short.patch")], cwd=place / "words", check=True)
    assert "agents.py:large: score on" in re.sub("<.*?>", "", html.unescape((place / "pr.md").read_text()))


def test_values_and_proofs_of_all_agents_stay_within_one_budget(shrunk):
    place, _ = shrunk
    result = json.loads((place / "run/shrink.json").read_text())
    assert result["rollouts"]["budget"] == 900
    assert result["rollouts"]["values"] + result["rollouts"]["proof"] <= 900
    assert paid(place) <= 900
    for part in ("values", "proof"):
        assert result["rollouts"][part] == sum(agent["rollouts"][part] for agent in result["agents"])


@pytest.mark.heavy
def test_the_same_command_again_pays_nothing(shrunk):
    place, _ = shrunk
    first, before = json.loads((place / "run/shrink.json").read_text()), paid(place)
    assert shrink(place) == 0
    assert json.loads((place / "run/shrink.json").read_text())["agents"] == first["agents"]
    assert paid(place) == before


def test_no_task_of_a_proof_has_been_used_for_values(shrunk):
    place, _ = shrunk
    connection = sqlite3.connect(place / "run/ledger.sqlite")
    rows = connection.execute("select run, task from rollout").fetchall()
    connection.close()
    used, proved = ({task for name, task in rows if name.endswith("-shrink") is proof} for proof in (False, True))
    assert used
    assert proved
    assert not used & proved


@pytest.mark.heavy
def test_a_noisy_agent_and_a_steady_one_get_one_skill(place, capsys):
    short = place / "short"
    code = shrink(place, "--max-drop", "15", "-o", str(short), agents=("noisy", "large"), rollouts=1200)
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"]) == (0, "no worse")
    text = (short / "SKILL.md").read_text()
    assert "`alpha`" in text
    assert "`beta`" in text, "the noisy agent needs it"
    assert not ("`gamma`" in text and "friendly" in text), "a line that nobody needs is gone"


@pytest.mark.heavy
def test_the_agent_and_the_tasks_that_a_deletion_breaks_are_named(shrunk, place, capsys):
    manifest = json.loads(next(shrunk[0].glob("run/matrix-runs/*/manifest.json")).read_text())
    broken = sorted(manifest["panel_b"])[:40]  # the panels depend on tasks and seed alone
    write_agents(place, held_out=broken)
    code = shrink(place, "-o", str(place / "short"), agents=("small", "tender"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"]) == (3, "worse")
    assert shown_for(result)["tender"] == "worse"
    lost = next(agent for agent in result["agents"] if agent["name"].endswith("tender"))["sets"][0]["proof"]["lost"]
    assert set(lost) <= set(broken)
    assert len(lost) >= 10
    assert not (place / "short").exists()


def edited_by(place, edit):
    """An editor that makes a text of the shorter one by this expression."""
    body = f'text = files["SKILL.md"].decode()\n    return {{"SKILL.md": {edit}}}'
    (place / "editor.py").write_text(f"def edit(files, instruction):\n    {body}\n")
    return f"python:{place}/editor.py:edit"


@pytest.mark.heavy
def test_an_editor_shortens_what_is_left_and_each_agent_proves_its_text(place, capsys):
    editor = edited_by(place, 'text.replace(" whenever anybody asks for the first of the words", "")')
    code = shrink(place, "--refine", editor, "-o", str(place / "short"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"], result["refined"]) == (0, "no worse", True)
    assert shown_for(result) == {"small": "no worse", "large": "no worse"}
    text = (place / "short/SKILL.md").read_text()
    assert "- Say `alpha`.\n" in text
    assert "gamma" not in text
    subprocess.run(["git", "apply", "--check", str(place / "short.patch")], cwd=place / "words", check=True)


@pytest.mark.heavy
def test_an_editor_that_removes_what_one_agent_needs_is_found_out(place, capsys):
    code = shrink(place, "--refine", edited_by(place, 'text.replace("Say `beta`", "Ask")'), "-o", str(place / "short"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"]) == (3, "worse")
    assert shown_for(result)["small"] == "worse"
    assert shown_for(result)["large"] in {None, "no worse"}, "it knows beta"
    assert not (place / "short").exists()


@pytest.mark.heavy
def test_the_text_that_an_editor_makes_of_a_second_set_has_a_proof_of_its_own(place, capsys):
    both = '"friendly" in text or "gamma" in text'
    editor = edited_by(place, f'text if {both} else text.replace("`alpha`", "nothing")')
    code = shrink(place, "--max-drop", "20", "--refine", editor, "-o", str(place / "short"), rollouts=1200)
    result = json.loads(capsys.readouterr().out)
    assert [one["outcome"] for one in result["sets"]] == ["worse", "no worse"]
    assert code == 0
    text = (place / "short/SKILL.md").read_text()
    assert "`alpha`" in text
    assert ("friendly" in text) != ("gamma" in text)


@pytest.mark.heavy
def test_a_skill_of_which_agents_need_every_line_stays(place, capsys):
    text = "".join(line for line in SKILL.splitlines(keepends=True) if not line.startswith(("- Speak", "- Keep")))
    (place / "words/SKILL.md").write_text(text)
    code = shrink(place, "-o", str(place / "short"))
    result = json.loads(capsys.readouterr().out)
    assert (code, result["outcome"], result["removed"]) == (3, "nothing to remove", [])
    assert not (place / "short").exists()


@pytest.mark.parametrize(("agent", "word"), [("deaf", "no difference"), ("broken", "no connection")])
def test_an_agent_that_ignores_the_skill_or_fails_is_named(place, capsys, agent, word):
    code = shrink(place, "-o", str(place / "short"), "--attempts", "1", agents=("small", agent))
    error = capsys.readouterr().err
    assert code == 5
    assert word in error
    assert f"agents.py:{agent}" in error
    assert not (place / "short").exists()
    assert paid(place) <= 200, "only the first batches were paid for"


def test_too_little_power_for_all_agents_stops_after_the_first_batches(place, capsys, validate):
    code = shrink(place, "--max-drop", "2", agents=("noisy", "large"), rollouts=600)
    output, error = capsys.readouterr()
    assert code == 3
    result = json.loads(output)
    validate(result)
    assert (result["outcome"], result["rollouts"]["values"], result["rollouts"]["budget"]) == ("not shown", 120, 600)
    assert [(agent["sets"], agent["rollouts"]["values"]) for agent in result["agents"]] == [([], 60), ([], 60)]
    assert result["stopped"]["would_help"]
    assert "less than even odds" in error
    assert paid(place) <= 200
    assert not (place / "run/shrink.json").exists()


def test_one_agent_and_several_exclude_each_other(place, capsys):
    assert shrink(place, "--agent", f"python:{place}/agents.py:small") == 2
    assert "either one agent or several" in capsys.readouterr().err
    assert shrink(place, agents=("small",)) == 2
    assert "two agents or more" in capsys.readouterr().err
    assert shrink(place, "--ask-judge") == 2
    capsys.readouterr()
    assert run(["shrink", str(place / "words"), "--tasks", str(place / "tasks.jsonl")]) == 2
    assert "Name one with --agent, or several with --agents." in capsys.readouterr().err
