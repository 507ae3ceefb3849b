"""The verifier of a run: each task by its own specification, and errors in specifications."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from skillsv.errors import TaskError
from skillsv.model.protocols import Verifier
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier


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
def test_each_task_is_scored_by_its_own_verifier(tmp_path, verifier, target, good, bad):
    assert score(task(verifier, target), good, tmp_path) == 1.0
    assert score(task(verifier, target), bad, tmp_path) == 0.0


def test_default_verifier_applies_to_tasks_that_name_none(tmp_path):
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
def test_invalid_specification_is_reported_when_the_verifier_is_made(tmp_path, verifier, target, sentence):
    (tmp_path / "check.py").write_text("def score(task, answer): return 1\n")
    with pytest.raises(TaskError) as caught:
        make_verifier([task(verifier, target)], folder=tmp_path, default=None)
    assert sentence in str(caught.value)
