"""Escape sequences of agents, skills, tasks and file names never reach the terminal, on stdout or on stderr.

The sequence sets the title of the window, clears the screen and writes over earlier lines.
"""

import json
import sys

import pytest

from skillsv.cli import run
from skillsv.cli.app import error_handlers
from skillsv.cli.consent import Question, agree
from skillsv.errors import SettingsError, Unavailable
from skillsv.model.events import Note, RolloutRetried, RunFinished, RunStarted
from skillsv.model.rollout import FailureKind
from skillsv.pipeline.progress import PlainProgress

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[1A\r\x9b31m\u202egone"
DANGEROUS = ("\x1b", "\x07", "\x9b", "\r", "\u202e")

SKILL = f"""\
---
name: tiny
description: Words to say.
---

# Words {EVIL[:-4]}

- Say `alpha` {EVIL[:-4]}.
- Mumble while you are at it.
"""

AGENTS = {
    "answers": "return 'alpha EVIL' if skill is not None and 'alpha' in skill.text else 'EVIL'",
    "says the same": "return 'EVIL'",
    "raises": "raise ValueError('EVIL')",
    "prints": "print('EVIL'); return 'alpha'",
    "exits": "raise SystemExit('EVIL')",
}


def clean(capfd):
    """Nothing that was printed drives a terminal."""
    printed = "".join(capfd.readouterr())
    assert printed
    found = [mark for mark in DANGEROUS if mark in printed]
    assert not found, repr(printed[:2000])
    return printed


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text(SKILL)
    task = {"input": f"? {EVIL}", "target": "alpha", "verifier": "contains"}
    tasks = [json.dumps({"id": f"t{number}", **task}) for number in range(6)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(tasks) + "\n")
    return tmp_path


def value(place, code, *flags):
    (place / "agent.py").write_text(
        f"def answer(skill, task, replicate):\n    {code.replace('EVIL', repr(EVIL)[1:-1])}\n"
    )
    words = ["--tasks", "tasks.jsonl", "--agent", "python:agent.py:answer", "--method", "chain", "--orders", "2"]
    return run(["value", "tiny", *words, "--window", "2", "--panel-b", "2", "--attempts", "1", "--yes", *flags])


@pytest.mark.parametrize("code", AGENTS.values(), ids=AGENTS)
def test_a_run_and_what_is_shown_of_it(place, capfd, code):
    value(place, code)
    clean(capfd)
    folder = next((place / ".skillsv").iterdir(), None)
    for command in (["status"], ["estimate"], ["report", "--format", "md"], ["pairs"], ["prune"]):
        run([command[0], str(folder), *command[1:]])
        clean(capfd)


def test_a_proof(place, capfd):
    assert value(place, AGENTS["answers"]) == 0
    folder = next((place / ".skillsv").iterdir())
    capfd.readouterr()
    run(["confirm", str(folder), "--curves", "none", "--yes"])
    clean(capfd)


def test_the_doctor(place, capfd):
    for code in AGENTS.values():
        (place / "agent.py").write_text(
            f"def answer(skill, task, replicate):\n    {code.replace('EVIL', repr(EVIL)[1:-1])}\n"
        )
        run(["doctor", "--agent", "python:agent.py:answer"])
        clean(capfd)


@pytest.mark.parametrize("command", ["compile", "lint", "status", "report", "value", "no-such\x1b[2J"])
def test_names_of_files_and_words_of_the_command_line(place, capfd, command):
    evil = place / f"no{EVIL}"
    run([command, str(evil)])
    clean(capfd)
    run([command, str(evil), f"--flag{EVIL}"])
    clean(capfd)


def test_a_run_folder_with_an_evil_name(place, capfd):
    folder = place / f"run{EVIL}"
    value(place, AGENTS["answers"], "--run-dir", str(folder))
    for command in ("status", "report"):
        run([command, str(folder)])
    clean(capfd)


@pytest.mark.parametrize("error", [Unavailable(EVIL), OSError(5, "bad", f"file{EVIL}"), ValueError(EVIL)])
def test_every_error_handler(capfd, error):
    handler = next(handle for kind, handle in error_handlers() if isinstance(error, kind))
    stdout = sys.stdout
    handler(error)
    sys.stdout = stdout
    clean(capfd)


def test_the_question_before_spending(capfd):
    with pytest.raises(SettingsError):
        agree([f"Forecast {EVIL}"], yes=False, question=Question(text=EVIL))
    clean(capfd)


def test_the_progress_of_a_run(capfd):
    progress = PlainProgress(sys.stderr)
    retried = RolloutRetried(task=EVIL, attempt=1, kind=FailureKind.CRASH, message=EVIL, wait=0.0)
    for event in (
        RunStarted(run=EVIL, chains=1, expected_rollouts=1),
        Note(message=EVIL),
        retried,
        RunFinished(reason=EVIL),
    ):
        progress(event)
    assert clean(capfd).count("gone") >= 4
