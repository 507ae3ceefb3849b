"""One verifier for all tasks: each by its own rule, wrong specifications found before anything is spent."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from pathlib import Path

import anyio
import pytest

from skillsv.errors import AgentFailure, TaskError, VerifierFailure
from skillsv.model.protocols import Verifier
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier
from skillsv.tasks.verifiers import pattern


def task(verifier: str = "", target: object = "42", **more) -> Task:
    return Task(id="t1", input="What?", target=target, verifier=verifier, **more)


def score(one: Task, answer: str, folder: Path, **options) -> float:
    verifier = make_verifier([one], folder=folder, **options)
    assert isinstance(verifier, Verifier)
    return anyio.run(verifier.score, one, Outcome(answer=answer), folder)


@pytest.mark.parametrize(
    ("verifier", "target", "good", "bad"),
    [
        ("", "42", "42", "It is 42"),
        ("", 42, "It is 42", "43"),
        ("", ["a", "b"], "b", "c"),
        ("", {"a": 1}, '{"a": 1}', '{"a": 2}'),
        ("", True, "true", "1"),
        ("exact", "42", "42", "It is 42"),
        ("contains", "42", "It is 42", "43"),
        ("regex", r"\b4\d\b", "It is 42", "421"),
        ("regex", [r"^a+$", r"(x|y)+z"], "xyz", "b"),
        ("numeric:0.5", 42, "42.4", "42.6"),
        ("choice", "B", "Answer: B", "Answer: C"),
        ("json", [1], "[1]", "[2]"),
    ],
)
def test_each_task_is_scored_by_its_own_rule(tmp_path, verifier, target, good, bad):
    assert score(task(verifier, target), good, tmp_path) == 1.0
    assert score(task(verifier, target), bad, tmp_path) == 0.0


def test_the_default_serves_tasks_that_name_none(tmp_path):
    assert score(task(), "It is 42", tmp_path, default="contains") == 1.0
    assert score(task("exact"), "It is 42", tmp_path, default="contains") == 0.0


@pytest.mark.parametrize(
    ("verifier", "target", "sentence"),
    [
        ("", None, "The task `t1` has neither a target nor a verifier."),
        ("exact", None, "The verifier `exact` of the task `t1`: the task has no target"),
        ("magic", "x", "there is no such verifier. Known: exact, contains, regex, numeric, choice, json"),
        ("regex", "(", "the regular expression '(' is broken"),
        ("regex", 3, "must be a regular expression"),
        ("numeric", "many", "the target many is not a number"),
        ("numeric:x", 3, "of the task `t1`"),
        ("contains", "", "not empty"),
        ("python:none.py:score", "x", "There is no such file."),
        ("python:check.py:none", "x", "check.py: The file has no `none`."),
        ("command:no-such-program-anywhere", "x", "was not found"),
        ("judge", ["Is polite"], "graded by a judge model, and none was given"),
        ("harbor:nowhere", "x", "there is no tests/test.sh"),
    ],
)
def test_a_wrong_specification_is_found_before_anything_is_spent(tmp_path, verifier, target, sentence):
    (tmp_path / "check.py").write_text("def score(task, answer): return 1\n")
    with pytest.raises(TaskError) as caught:
        make_verifier([task(verifier, target)], folder=tmp_path, default=None)
    assert sentence in str(caught.value)


def python(folder: Path, body: str, name: str = "score") -> Task:
    (folder / "check.py").write_text(textwrap.dedent(body))
    return task(f"python:check.py:{name}", metadata={"k": 1})


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
def test_a_python_function_gets_what_its_parameters_name(tmp_path, body):
    assert score(python(tmp_path, body), "a", tmp_path) == 0.25


def test_a_python_function_may_say_true_or_false(tmp_path):
    assert score(python(tmp_path, "def score(task, answer): return answer == 'a'"), "a", tmp_path) == 1.0


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
def test_a_verifier_that_raises_or_returns_no_score_fails_and_is_no_zero(tmp_path, body, sentence):
    with pytest.raises(VerifierFailure) as caught:
        score(python(tmp_path, body), "a", tmp_path)
    assert sentence in str(caught.value)
    assert caught.value.kind == "verifier"


def command(folder: Path, body: str) -> Task:
    (folder / "check.sh").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "check.sh").chmod(0o755)
    return task("command:./check.sh")


def test_a_program_reads_task_and_answer_and_prints_the_score(tmp_path):
    assert (
        score(command(tmp_path, """grep -q '"answer":"yes"' && echo note && echo 0.5 || echo 0"""), "yes", tmp_path)
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
def test_a_program_that_gives_no_score_fails(tmp_path, body, sentence):
    with pytest.raises(VerifierFailure) as caught:
        score(command(tmp_path, body), "yes", tmp_path)
    assert sentence in str(caught.value)


def test_files_of_a_specification_may_lie_where_the_user_stands(tmp_path, monkeypatch):
    here, tasks = tmp_path / "here", tmp_path / "tasks"
    here.mkdir()
    tasks.mkdir()
    monkeypatch.chdir(here)
    assert score(python(here, "def score(task, answer): return 1"), "a", tasks) == 1.0
    assert score(command(here, "echo 1"), "a", tasks) == 1.0


CATASTROPHE = r"(a|a|aa)+$"


def test_a_regular_expression_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(pattern, "_LIMITS", pattern.Limits(seconds=0.5, output_bytes=1024))
    with pytest.raises(VerifierFailure, match=r"did not finish within 0\.5 s"):
        score(task("regex", CATASTROPHE), "a" * 60 + "b", tmp_path)


@pytest.mark.parametrize(
    ("text", "quick"),
    [
        (r"\b42\b", True),
        (r"total.*42", True),
        (r"(?i)total.*42", True),
        (r"(?:a|b) c+", True),
        (r"1\+1\*2", True),
        (r"a*a*b", False),
        (r"(a|a)+", False),
        (r"(a{1,9}){9}", False),
        (r"a?a?a?aaa", False),
        (r"(?x)(a|a) +b", False),
        (r"\\*x*", False),
    ],
)
def test_only_patterns_of_one_repetition_are_searched_in_this_process(text, quick):
    assert pattern.surely_quick(text) is quick


def test_a_long_answer_is_searched_apart(tmp_path):
    assert score(task("regex", "needle+"), "x" * 100_000 + "needle", tmp_path) == 1.0
    assert score(task("regex", "needle+"), "x" * 100_000, tmp_path) == 0.0
    assert score(task("regex", r"é\s+\ud83d\ude00|é.*😀"), "é  \n é 😀 " + "x" * 9000, tmp_path) == 1.0


class Judge:
    fingerprint = "judge/1"

    def __init__(self, reply: str | Exception) -> None:
        self.reply = reply
        self.seen: list[tuple] = []

    async def run(self, skill, task, replicate, workspace):
        self.seen.append((skill, task, workspace))
        if isinstance(self.reply, Exception):
            raise self.reply
        return Outcome(answer=self.reply)


@pytest.mark.parametrize(
    ("reply", "share"),
    [
        ("1: yes\n2: no", 0.5),
        ("1. Yes\n2. Yes", 1.0),
        ("**1:** PASS\n**2:** fail, because", 0.5),
        ("1: no\n2: no\n3: yes", 0.0),
    ],
)
def test_a_judge_gives_the_share_of_expectations_met(tmp_path, reply, share):
    judge = Judge(reply)
    one = task("judge:model:x", ["Has axes", "Is polite"], metadata={"hint": "secret"})
    specs: list[str] = []
    other = dataclasses.replace(one, id="t2")
    verifier = make_verifier([one, other], folder=tmp_path, judge=lambda spec: specs.append(spec) or judge)
    assert anyio.run(verifier.score, one, Outcome(answer="the answer"), tmp_path) == share
    assert specs == ["model:x"]
    ((skill, question, _),) = judge.seen
    assert skill is None
    assert "the answer" in question.input
    assert "2. Is polite" in question.input
    assert question.metadata == {}


@pytest.mark.parametrize("reply", ["", "1: yes", "looks good to me", "2: yes\n3: yes"])
def test_a_judge_that_does_not_rule_fails(tmp_path, reply):
    with pytest.raises(VerifierFailure, match="did not rule on expectation"):
        score(task("judge", ["a", "b"]), "x", tmp_path, judge=lambda spec: Judge(reply))


def test_a_judge_behind_a_rate_limit_keeps_its_kind(tmp_path):
    trouble = AgentFailure("slow down", kind="rate-limit", retry_after=3.0)
    with pytest.raises(AgentFailure) as caught:
        score(task("judge", ["a"]), "x", tmp_path, judge=lambda spec: Judge(trouble))
    assert (caught.value.kind, caught.value.retry_after) == ("rate-limit", 3.0)


def test_a_score_is_checked_to_be_finite(tmp_path):
    assert math.isfinite(score(task(), "42", tmp_path))
