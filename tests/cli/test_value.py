"""`skillsv value` with a limit of money: refused while the cost is unknown, and used once it is known."""

import json
import sys

import pytest

from skillsv.cli import run

SKILL = """\
---
name: tiny
description: Two words to say.
---

- Say `alpha`.
- Say `beta`.
"""

AGENT = """\
import re
from pathlib import Path

from skillsv.model.rollout import Outcome, Usage

LOG = Path(__file__).with_name("log.txt")

def free(skill, task, replicate):
    with LOG.open("a") as log:
        log.write(f"{task.id}\\n")
    return " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""

def paid(skill, task, replicate):
    return Outcome(answer=free(skill, task, replicate), usage=Usage(usd=0.25))

def forgetful(skill, task, replicate):
    reported = None if len(LOG.read_text().split()) > 6 else 0.25
    return Outcome(answer=free(skill, task, replicate), usage=Usage(usd=reported))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "log.txt").write_text("")
    lines = [
        {"id": f"t{n}", "input": "?", "target": ["alpha", "beta"][n % 2], "verifier": "contains"} for n in range(12)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def value(agent, *flags, command="value"):
    return run([command, "tiny", "--tasks", "tasks.jsonl", "--agent", agent, "--operators", "delete", *flags])


def calls(place):
    return len((place / "log.txt").read_text().split())


@pytest.mark.parametrize("agent", ["python:agent.py:paid", f"command:{sys.executable} -c pass"])
@pytest.mark.parametrize("flags", [[], ["--yes"], ["--max-tokens", "9000"]])
def test_a_budget_of_money_is_refused_where_the_cost_is_unknown(place, capsys, agent, flags):
    assert value(agent, "--budget-usd", "5", *flags) == 2
    printed = capsys.readouterr().err
    assert f"--budget-usd 5 cannot be measured: the cost of a rollout of `{agent}` is unknown." in printed
    assert "--max-rollouts" in printed
    assert calls(place) == 0
    assert not (place / ".skillsv").exists()


def test_a_model_without_a_price_is_refused_until_prices_names_it(place, capsys, monkeypatch):
    pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    server = ["--base-url", "http://127.0.0.1:9/v1", "--tools", "none", "--budget-usd", "5"]
    assert value("model:openai:tiny", *server) == 2
    assert "--prices FILE.toml" in capsys.readouterr().err
    (place / "prices.toml").write_text('["openai:other"]\ninput = 1\noutput = 1\n')
    assert value("model:openai:tiny", *server, "--prices", "prices.toml") == 2
    assert "is unknown" in capsys.readouterr().err
    (place / "prices.toml").write_text('["openai:tiny"]\ninput = 1\noutput = 1\n')
    assert value("model:openai:tiny", *server, "--prices", "prices.toml", "--attempts", "1") == 5
    assert "is unknown" not in capsys.readouterr().err


def test_a_probe_makes_the_cost_known_and_the_budget_a_limit(place, capsys):
    assert value("python:agent.py:paid", "--probe", "--budget-usd", "5", command="plan") == 0
    assert "cost unknown" not in capsys.readouterr().out
    assert calls(place) == 4
    assert value("python:agent.py:paid", "--budget-usd", "5", "--jobs", "1") == 4
    printed = capsys.readouterr().err
    assert "the budget of $5.00 is used up" in printed
    assert "cost unknown" not in printed
    assert calls(place) == 4 + 20


def test_the_cost_is_shown_after_the_first_batch(place, capsys):
    assert value("python:agent.py:paid", "--method", "chain", "-k", "2", "-b", "4", "--jobs", "3", "--yes") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("A rollout costs about")]
    (line,) = lines
    assert line.startswith("A rollout costs about $0.2500: about $")


def test_an_unreported_cost_is_noted_once_and_max_rollouts_holds(place, capsys):
    assert value("python:agent.py:free", "--budget-usd", "5", "--max-rollouts", "30") == 4
    sentence = "The agent does not report its cost: --budget-usd cannot be measured, only --max-rollouts 30 holds."
    assert capsys.readouterr().err.splitlines().count(sentence) == 1
    assert calls(place) <= 30


def test_a_run_limited_only_by_money_ends_when_a_cost_is_missing(place, capsys):
    assert value("python:agent.py:forgetful", "--probe", command="plan") == 0
    assert value("python:agent.py:forgetful", "--budget-usd", "50", "--jobs", "1") == 4
    assert "did not report its cost" in capsys.readouterr().err
    assert calls(place) == 8
