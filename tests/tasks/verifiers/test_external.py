"""Verifiers whose score comes from outside: `python`, `command` and `inspect`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import anyio
import pytest

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier

SCORES = {"includes": 0.5, "graded.tone": 1.0, "raw": 7.0}


def inspect_score(tmp_path, spec, scores):
    task = Task(id="a", input="?", verifier=spec)
    verifier = make_verifier([task], folder=tmp_path)
    return anyio.run(verifier.score, task, Outcome(answer="", scores=scores), tmp_path)


@pytest.mark.parametrize(("spec", "value"), [("inspect", 0.5), ("inspect:includes", 0.5), ("inspect:graded.tone", 1.0)])
def test_first_score_or_the_named_score_is_returned(tmp_path, spec, value):
    assert inspect_score(tmp_path, spec, SCORES) == value


@pytest.mark.parametrize(
    ("spec", "scores", "words"),
    [
        ("inspect", {}, "needs --agent inspect:FILE.py@task"),
        ("inspect:tone", SCORES, "no score `tone`; there are: includes, graded.tone, raw"),
        ("inspect:raw", SCORES, "returned 7.0 instead of a score from 0 to 1"),
    ],
)
def test_missing_or_invalid_score_is_a_failure(tmp_path, spec, scores, words):
    with pytest.raises(VerifierFailure) as caught:
        inspect_score(tmp_path, spec, scores)
    assert words in str(caught.value)


def score(task: Task, answer: str, folder: Path, **options) -> float:
    verifier = make_verifier([task], folder=folder, **options)
    return anyio.run(verifier.score, task, Outcome(answer=answer), folder)


def python_task(folder: Path, body: str, name: str = "score") -> Task:
    (folder / "check.py").write_text(textwrap.dedent(body))
    return Task(id="t1", input="What?", target="42", verifier=f"python:check.py:{name}", metadata={"k": 1})


@pytest.mark.parametrize(
    "body",
    [
        "def score(task, answer): return 0.25 if task.target == '42' and answer == 'a' else 0",
        "def score(answer, target): return 0.25 if target == '42' and answer == 'a' else 0",
        "def score(answer, task): return 0.25 if task['metadata'] == {'k': 1} and answer == 'a' else 0",
        "async def score(task, outcome, workspace): return 0.25 if outcome.answer == 'a' and workspace.is_dir() else 0",
        "def score(t, a): return 0.25 if t.id == 't1' and a == 'a' else 0",
        "def score(t, a, w): return 0.25 if t.id == 't1' and a == 'a' and w.is_dir() else 0",
        "def score(task, answer, *, strict=True): return 0.25 if strict and answer == 'a' else 0",
    ],
)
def test_function_receives_the_arguments_that_its_parameters_name(tmp_path, body):
    assert score(python_task(tmp_path, body), "a", tmp_path) == 0.25


def test_function_may_return_a_bool(tmp_path):
    assert score(python_task(tmp_path, "def score(task, answer): return answer == 'a'"), "a", tmp_path) == 1.0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("def score(task, answer):\n    raise KeyError('gone')", "check.py:2: KeyError: 'gone'"),
        ("def score(task, answer):\n    import sys\n    sys.exit(1)", "check.py:3: SystemExit"),
        ("def score(task, answer): return 7", "returned 7 instead of a score from 0 to 1"),
        ("def score(task, answer): return float('nan')", "returned nan instead of a score"),
        ("def score(task, answer): return float('inf')", "returned inf"),
        ("def score(task, answer): return -0.1", "returned -0.1"),
        ("def score(task, answer): return None", "returned None"),
        ("def score(task, answer): return '1'", "returned '1'"),
        ("def score(task, answer): return 10 ** 400", "instead of a score"),
        ("def score(task, answer): return 'x' * 1000", "xxx... instead"),
    ],
)
def test_function_that_raises_or_returns_no_score_is_a_failure(tmp_path, body, sentence):
    with pytest.raises(VerifierFailure) as caught:
        score(python_task(tmp_path, body), "a", tmp_path)
    assert sentence in str(caught.value)
    assert caught.value.kind == "verifier"


def command_task(folder: Path, body: str) -> Task:
    (folder / "check.sh").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "check.sh").chmod(0o755)
    return Task(id="t1", input="What?", target="42", verifier="command:./check.sh")


def test_program_reads_task_and_answer_and_prints_the_score(tmp_path):
    assert (
        score(
            command_task(tmp_path, """grep -q '"answer":"yes"' && echo note && echo 0.5 || echo 0"""), "yes", tmp_path
        )
        == 0.5
    )


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("echo oops >&2; exit 3", "check.sh ended with exit code 3: oops"),
        ("echo fine", "printed 'fine' as its last line"),
        ("true", "printed nothing"),
        ("echo 7", "returned 7.0 instead of a score"),
        ("echo nan", "returned nan"),
    ],
)
def test_program_without_a_valid_score_is_a_failure(tmp_path, body, sentence):
    with pytest.raises(VerifierFailure) as caught:
        score(command_task(tmp_path, body), "yes", tmp_path)
    assert sentence in str(caught.value)


def test_files_of_a_specification_may_be_in_the_current_folder(tmp_path, monkeypatch):
    here, tasks = tmp_path / "here", tmp_path / "tasks"
    here.mkdir()
    tasks.mkdir()
    monkeypatch.chdir(here)
    assert score(python_task(here, "def score(task, answer): return 1"), "a", tasks) == 1.0
    assert score(command_task(here, "echo 1"), "a", tasks) == 1.0
