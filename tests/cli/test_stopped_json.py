"""`--json` of a shrink or matrix that ends early prints a document that says why."""

import json

import pytest

from skillsv.cli import run

SKILL = "---\nname: words\ndescription: Words.\n---\n\n# Words\n\n- Say `alpha` to them.\n- Be `friendly` to them.\n"

AGENT = """\
import time

def deaf(skill, task):
    return "alpha" if len(task.id) % 2 else "beta"

def wrong(skill, task):
    return "no"

def right(skill, task):
    return "alpha"

def broken(skill, task):
    raise ValueError("no connection")

def slow(skill, task):
    time.sleep(0.05)
    return skill.text if skill else ""

def good(skill, task):
    return skill.text if skill else ""
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A skill, agents, and 120 tasks, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").mkdir()
    (tmp_path / "words/SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    lines = [{"id": f"t{n:03d}", "input": "?", "target": "alpha", "verifier": "contains"} for n in range(120)]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def command(name, *agents, flags=("--max-rollouts", "500")):
    several = name == "matrix" or len(agents) > 1
    specs = ",".join(f"python:agent.py:{agent}" for agent in agents)
    return run(
        [name, "words", "--tasks", "tasks.jsonl", "--agents" if several else "--agent", specs, "--run-dir", "run",
         "--attempts", "1", "--quiet", "--json", *flags]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("agents", "flags", "code", "reason"),
    [
        (["deaf"], ["--max-rollouts", "500"], 5, "no difference"),
        (["wrong"], ["--max-rollouts", "500"], 5, "no difference"),
        (["right"], ["--max-rollouts", "500"], 5, "no difference"),
        (["broken"], ["--max-rollouts", "500"], 5, "no connection"),
        (["slow"], ["--max-seconds", "0.3", "-j", "2", "--yes"], 4, "is used up"),
        (["good", "deaf"], ["--max-rollouts", "500"], 5, "agent.py:deaf"),
        (["good", "broken"], ["--max-rollouts", "500"], 5, "agent.py:broken"),
    ],
)
def test_a_shrink_that_ends_early_prints_why_as_json(place, capsys, validate, agents, flags, code, reason):
    assert command("shrink", *agents, flags=flags) == code
    output, error = capsys.readouterr()
    result = json.loads(output)
    validate(result)
    assert (result["outcome"], result["sets"], result["removed"]) == ("not shown", [], [])
    assert reason in result["stopped"]["reason"]
    assert reason in error
    assert result["stopped"]["would_help"]
    assert len(result.get("agents", ())) == (len(agents) if len(agents) > 1 else 0)
    if code == 5:
        assert 0 < result["rollouts"]["values"] <= 180


def test_a_matrix_without_values_names_every_agent_and_prints_json(place, capsys, validate):
    assert command("matrix", "deaf", "broken") == 5
    output, error = capsys.readouterr()
    result = json.loads(output)
    validate(result)
    assert [agent["error"] is not None for agent in result["agents"]] == [True, True]
    assert (result["units"], result["shared"]["removed"]) == ([], [])
    for word in ("agent.py:deaf", "agent.py:broken", "changed no score", "no connection"):
        assert word in error


def test_a_matrix_names_the_agent_that_failed_beside_one_with_values(place, capsys):
    assert command("matrix", "good", "broken", flags=["--max-rollouts", "1200"]) == 5
    error = capsys.readouterr().err
    assert "agent.py:broken: " in error
