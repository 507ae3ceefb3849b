"""What `skillsv shrink` spends at most: the limits of the user, whatever fails on the way."""

import json

import pytest

from skillsv.cli import run
from skillsv.model.rollout import Usage
from skillsv.rollout import PerRollout

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
import re
from pathlib import Path

LOG = Path(__file__).with_name("log.txt")

def words(skill, task):
    """Says the words of the skill, and writes down that it was asked."""
    with LOG.open("a") as log:
        log.write(task.id + "\\n")
    return " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""

def steady(skill, task):
    return words(skill, task)

def other(skill, task):
    return words(skill, task) + "."
'''


@pytest.fixture
def place(tmp_path):
    """A skill with two useless bullets, its agents, and 120 tasks."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words/SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    lines = [
        {"id": f"t{n:03d}", "input": "?", "target": ["alpha", "beta"][n % 2], "verifier": "contains"}
        for n in range(120)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def command(place, name, *flags, agents=("steady",), quiet=True):
    """Run a command with these functions as agents."""
    specs = ",".join(f"python:{place}/agent.py:{agent}" for agent in agents)
    return run(
        [name, str(place / "words"), "--tasks", str(place / "tasks.jsonl"), "--run-dir", str(place / "run"),
         "--agents" if len(agents) > 1 or name == "matrix" else "--agent", specs,
         *(["--quiet"] if quiet else []), *flags]
    )  # fmt: skip


def asked(place):
    """How often the agents were asked."""
    log = place / "log.txt"
    return len(log.read_text().split()) if log.exists() else 0


@pytest.mark.parametrize(("agents", "limit", "least"), [(("steady",), 50, 234), (("steady", "other"), 110, 468)])
def test_a_limit_below_the_first_batch_is_refused_before_any_spending(place, capsys, agents, limit, least):
    code = command(place, "shrink", "--max-rollouts", str(limit), "--max-drop", "8", agents=agents)
    error = capsys.readouterr().err
    assert (code, asked(place)) == (2, 0)
    assert "the first batch" in error
    assert f"--max-rollouts {least}" in error


def test_the_default_budget_pays_for_the_first_batch_of_several_agents(place, capsys):
    assert command(place, "shrink", "--yes", "--keep", "nothing-*", agents=("steady", "other")) == 2
    assert "fits no unit" in capsys.readouterr().err


def test_a_matrix_does_not_begin_with_less_than_a_rollout_for_each_agent(place, capsys):
    assert command(place, "matrix", "--max-rollouts", "1", agents=("steady", "other")) == 2
    assert asked(place) == 0
    assert "--max-rollouts 1" in capsys.readouterr().err


def test_a_known_price_of_the_first_batch_above_the_limit_is_refused(place, capsys):
    (place / "priced.py").write_text(
        "from skillsv import Outcome\nfrom skillsv.model.rollout import Usage\n"
        "def priced(skill, task):\n"
        "    return Outcome(answer='alpha', usage=Usage(input_tokens=10, output_tokens=10, usd=0.5))\n"
    )
    words = [str(place / "words"), "--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/priced.py:priced"]
    words += ["--run-dir", str(place / "run")]
    assert run(["plan", *words, "--probe"]) == 0
    capsys.readouterr()
    assert run(["shrink", *words, "--max-rollouts", "500", "--budget-usd", "5"]) == 2
    assert "--budget-usd 5" in capsys.readouterr().err
    assert run(["shrink", *words, "--max-rollouts", "500", "--max-tokens", "100"]) == 2
    assert "--max-tokens 100" in capsys.readouterr().err


PRICED = """
from skillsv import Outcome
from skillsv.model.rollout import Usage

def priced(skill, task):
    return Outcome(answer='alpha', usage=Usage(input_tokens=10, output_tokens=10, usd=0.5))

def other(skill, task):
    return Outcome(answer='beta', usage=Usage(input_tokens=10, output_tokens=10, usd=0.5))
"""


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        (("--budget-usd", "8"), "one agent's share ($4) of --budget-usd 8 pays for"),
        (("--max-tokens", "200"), "one agent's share (100) of --max-tokens 200 pays for"),
    ],
)
def test_a_refused_limit_of_several_agents_is_the_one_that_was_given(place, monkeypatch, capsys, limit, named):
    (place / "agent.py").write_text(PRICED)
    measured = PerRollout(usage=Usage(input_tokens=10, output_tokens=10, usd=0.5))
    monkeypatch.setattr("skillsv.api.shrink_plan.measured_cost", lambda folder, agent: measured)
    assert command(place, "shrink", "--max-rollouts", "500", *limit, agents=("priced", "other")) == 2
    assert named in capsys.readouterr().err


def test_the_limit_of_money_that_ends_a_shrink_for_several_agents_is_the_one_that_was_given(place, capsys):
    (place / "agent.py").write_text(PRICED)
    assert command(place, "shrink", "--max-rollouts", "500", "--budget-usd", "8", agents=("priced", "other")) == 4
    assert "the budget of $8.00 (one agent's share: $4.00) is used up" in capsys.readouterr().err


def test_what_a_failing_agent_spent_is_not_given_to_the_next_one(place):
    deaf = "\ndef deaf(skill, task):\n    words(skill, task)\n    return 'alpha'\n"
    (place / "agent.py").write_text(AGENT + deaf)
    assert command(place, "matrix", "--max-rollouts", "100", agents=("deaf", "steady")) in {4, 5}
    assert 50 < asked(place) <= 100


FLAKY = '''
FLAG = Path(__file__).with_name("crashed")

def hiccup(skill, task):
    """Crashes once, at its first rollout."""
    if not FLAG.exists():
        FLAG.touch()
        raise OSError("one hiccup")
    return words(skill, task)

def slow(skill, task):
    import time
    time.sleep(0.05)
    return words(skill, task)
'''


@pytest.mark.heavy
def test_a_retry_takes_from_the_limit_and_does_not_end_the_first_batch(place, capsys):
    (place / "agent.py").write_text(AGENT + FLAKY)
    code = command(place, "shrink", "--max-rollouts", "500", "--json", agents=("hiccup",))
    output, error = capsys.readouterr()
    assert "is used up" not in error
    assert (code, json.loads(output)["outcome"]) == (0, "no worse")
    assert asked(place) < 500


@pytest.mark.heavy
def test_a_limit_of_time_that_ends_a_shrink_is_the_one_of_the_user(place, capsys):
    (place / "agent.py").write_text(AGENT + FLAKY)
    code = command(place, "shrink", "--jobs", "4", "--max-seconds", "2", "--yes", agents=("slow",))
    assert code == 4
    assert "the budget of 2 s is used up" in capsys.readouterr().err


@pytest.mark.heavy
def test_the_calls_of_the_judge_are_counted_in_the_result(place, capsys):
    (place / "agent.py").write_text(AGENT + "\ndef judge(skill, task):\n    return '50'\n")
    judge = f"python:{place}/agent.py:judge"
    code = command(place, "shrink", "--max-rollouts", "500", "--ask-judge", "--judge", judge, "--json")
    output, error = capsys.readouterr()
    spent = json.loads(output)["rollouts"]
    assert code == 0, error + output
    assert (code, spent["judge"]) == (0, 4)


@pytest.mark.heavy
def test_a_judge_with_many_questions_makes_no_steady_agent_noisy(place, capsys):
    lines = "".join(f"- Speak of word {n:02d} to nobody, whoever asks.\n" for n in range(60))
    (place / "words/SKILL.md").write_text(SKILL + lines)
    (place / "agent.py").write_text(AGENT + "\ndef judge(skill, task):\n    return '50'\n")
    judge = f"python:{place}/agent.py:judge"
    command(place, "shrink", "--max-rollouts", "500", "--ask-judge", "--judge", judge, "--json", "--keep-going")
    result = json.loads(capsys.readouterr().out)
    spent = result["rollouts"]
    assert (result["noisy"], spent["judge"]) == (False, 64)
    assert spent["values"] >= 90
    assert sum(spent[part] for part in ("values", "judge", "trials", "proof")) <= 500


def test_the_forecast_names_tokens_money_and_time(place, capsys):
    assert command(place, "shrink", "--max-rollouts", "500", "--attempts", "1", agents=("broken",)) == 2
    assert command(place, "shrink", "--max-rollouts", "500", "--max-seconds", "0.01") == 4
    assert "Tokens unknown; cost unknown; time unknown." in capsys.readouterr().err
    assert command(place, "shrink", "--max-rollouts", "900", "--max-seconds", "0.01", agents=("steady", "other")) == 4
    assert "Tokens unknown; cost unknown; time " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["shrink", "matrix"])
def test_an_agent_that_is_listed_twice_is_refused_in_words_of_the_command_line(place, capsys, name):
    assert command(place, name, "--max-rollouts", "900", agents=("steady", "steady")) == 2
    error = capsys.readouterr().err
    assert "steady is listed twice" in error
    assert "dict" not in error
