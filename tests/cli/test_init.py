"""`skillsv init`: a beginning that runs once it is filled in, and never before."""

import json
import re

import pytest

from skillsv.cli import run

SKILL = "---\nname: tiny\ndescription: Two words to say.\n---\n\n# Words\n\n- Say `alpha`.\n- Say `beta`.\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text(SKILL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill_in(place):
    """What the user does: requests and expected answers in place of the marks."""
    lines = [json.loads(line) for line in (place / "tasks.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        line |= {"input": f"Question {number}?", "target": "alpha" if number % 2 else "beta"}
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.heavy
def test_the_starter_runs_after_it_was_filled_in(place, capsys):
    assert run(["init", "tiny", "--yes", "--tasks", "12", "--agent", "python", "--verifier", "function"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].split()
    assert {path.name for path in place.iterdir()} == {"tiny", "tasks.jsonl", "skillsv.toml", "agent.py", "check.py"}
    assert run([*command[1:], "--quiet"]) == 2
    assert "tasks.jsonl:1" in (error := capsys.readouterr().err)
    assert "skillsv init" in error
    fill_in(place)
    assert run([*command[1:], "--quiet"]) == 5
    assert "still the starter" in capsys.readouterr().err
    agent = 'import re\ndef answer(skill, task):\n    return " ".join(re.findall(r"`(\\w+)`", skill.text)) if skill else ""\n'
    (place / "agent.py").write_text(agent)
    assert run([*command[1:], "--quiet"]) == 0


def test_tasks_are_spread_over_the_skill(place):
    assert run(["init", "tiny", "--yes", "--tasks", "4"]) == 0
    inputs = [json.loads(line)["input"] for line in (place / "tasks.jsonl").read_text().splitlines()]
    assert ["alpha" in text for text in inputs] == [True, True, False, False]
    assert (place / "agent.sh").stat().st_mode & 0o100


def test_nothing_is_overwritten_and_the_skill_stays_untouched(place, capsys):
    (place / "tasks.jsonl").write_text("mine")
    assert run(["init", "tiny", "--yes"]) == 0
    assert (place / "tasks.jsonl").read_text() == "mine"
    assert "Kept" in capsys.readouterr().out
    assert run(["init", "tiny", "--yes", "-o", "tiny/evals"]) == 2
    assert [path.name for path in (place / "tiny").iterdir()] == ["SKILL.md"]


def test_without_a_terminal_it_wants_flags_or_yes(place, capsys):
    assert run(["init", "tiny"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert run(["init", "tiny", "--agent", "command:true", "--verifier", "exact", "--tasks", "2"]) == 0
    assert "--agent command:true" in capsys.readouterr().out.replace("'", "")


def test_on_a_terminal_it_asks_what_no_flag_says(place, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers = iter(["", "exact", "3"])
    monkeypatch.setattr("builtins.input", lambda: next(answers))
    assert run(["init", "tiny"]) == 0
    assert len(re.findall(r"\[\w+\]: ", capsys.readouterr().err)) == 3
    lines = [json.loads(line) for line in (place / "tasks.jsonl").read_text().splitlines()]
    assert [line["verifier"] for line in lines] == ["exact"] * 3


@pytest.mark.parametrize("flags", [["--verifier", "exakt"], ["--agent", "robot"], ["--tasks", "1"]])
def test_answers_that_cannot_be_used_are_refused(place, flags):
    assert run(["init", "tiny", "--yes", *flags]) == 2
    assert not (place / "tasks.jsonl").exists()
