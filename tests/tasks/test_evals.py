"""Tasks from a skill's own evals.json, in both dialects."""

from __future__ import annotations

import json

import pytest

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks


def skill_with(folder, evals: object):
    (folder / "evals" / "files").mkdir(parents=True, exist_ok=True)
    (folder / "evals" / "files" / "sales.csv").write_text("1")
    (folder / "evals" / "own.csv").write_text("2")
    (folder / "evals" / "evals.json").write_text(json.dumps(evals))
    return folder


@pytest.mark.parametrize("key", ["expectations", "assertions"])
def test_prose_of_both_dialects_is_graded_by_a_judge(tmp_path, key):
    entry = {"id": 1, "prompt": "Chart it", "expected_output": "A chart", key: ["Has axes", {"text": "Has 3 bars"}]}
    (task,) = load_tasks(skill_with(tmp_path, {"skill_name": "s", "evals": [entry | {"name": "chart"}]}))
    assert (task.id, task.input, task.verifier) == ("1", "Chart it", "judge")
    assert task.target == ["Has axes", "Has 3 bars"]
    assert (task.metadata, task.all_metadata) == ({}, {"name": "chart"})


def test_expected_output_is_judged_if_there_are_no_expectations(tmp_path):
    (task,) = load_tasks(skill_with(tmp_path, {"evals": [{"prompt": "x", "expected_output": "A chart"}]}))
    assert (task.id, task.target, task.verifier) == ("1", ["A chart"], "judge")


def test_contains_assertions_need_no_judge(tmp_path):
    checks = [{"type": "contains", "value": "yes"}, {"type": "not_contains", "value": "no", "name": "n"}]
    entries = [
        {"id": 1, "prompt": "x", "assertions": checks},
        {"id": 2, "prompt": "x", "assertions": [*checks, "Polite"]},
    ]
    one, two = load_tasks(skill_with(tmp_path, {"evals": entries}))
    assert (one.verifier, one.target) == ("contains", {"all": ["yes"], "none": ["no"]})
    assert two.verifier == "judge"
    assert two.target == ["The answer contains: yes", "The answer does not contain: no", "Polite"]


def test_given_verifier_replaces_the_judge(tmp_path):
    (task,) = load_tasks(
        skill_with(tmp_path, {"evals": [{"prompt": "x", "expectations": ["y"]}]}), verifier="python:check.py:score"
    )
    assert task.verifier == "python:check.py:score"


def test_files_are_relative_to_the_skill_or_to_evals(tmp_path):
    folder = skill_with(tmp_path, {"evals": [{"prompt": "x", "files": ["evals/files/sales.csv", "own.csv"]}]})
    for path in (folder, folder / "evals" / "evals.json"):
        (task,) = load_tasks(path)
        assert set(task.files) == {"sales.csv", "own.csv"}
        assert task.files["own.csv"].read_text() == "2"


@pytest.mark.parametrize(
    ("evals", "sentence"),
    [
        ({"evals": "x"}, "There is no list `evals`"),
        ({}, "There is no list `evals`"),
        ({"evals": [3]}, "evals[0]: An eval must be an object, not a number."),
        ({"evals": [{"id": 1, "expectations": ["y"]}]}, "evals[0]: `input` is empty"),
        ({"evals": [{"id": 1, "prompt": "x", "files": ["none"]}]}, "`evals/none` was not found"),
        ({"evals": [{"id": 1, "prompt": "x", "files": ["../up"]}]}, "outside the working folder"),
        ({"evals": [{"id": 1, "prompt": "x", "files": "a"}]}, "`files` must be a list of paths"),
        ({"evals": [{"id": 1, "prompt": "x", "expectations": [3]}]}, "An expectation is a number without a text."),
        ({"evals": [{"id": 1, "prompt": "x", "expectations": {"a": 1}}]}, "must be a list of texts"),
        ({"evals": [{"id": 1, "prompt": "x"}, {"id": "1", "prompt": "y"}]}, "The task id `1` occurs twice."),
        ({"evals": []}, "There are no tasks here"),
    ],
)
def test_invalid_evals_are_reported(tmp_path, evals, sentence):
    with pytest.raises(TaskError) as caught:
        load_tasks(skill_with(tmp_path, evals))
    assert sentence in str(caught.value)


def test_file_that_is_not_json_is_reported(tmp_path):
    (tmp_path / "evals.json").write_text("{")
    with pytest.raises(TaskError, match=r"evals\.json: This is not JSON"):
        load_tasks(tmp_path / "evals.json")


def test_digest_depends_on_the_judge(tmp_path):
    folder = skill_with(tmp_path, {"evals": [{"prompt": "x", "expectations": ["y"]}]})
    (tmp_path / "evals" / "judge.py").write_text("def run(skill, task, replicate): return '1: yes'\n")
    tasks = [load_tasks(folder)[0]]
    tasks += [load_tasks(folder, judge=judge)[0] for judge in ("model:x:one", "model:x:two", "python:judge.py:run")]
    assert [task.verifier for task in tasks[:2]] == ["judge", "judge:model:x:one"]
    (tmp_path / "evals" / "judge.py").write_text("def run(skill, task, replicate): return '1: no'\n")
    tasks += load_tasks(folder, judge="python:judge.py:run")
    assert len({task.digest for task in tasks}) == 5


def test_prose_is_never_compared_with_the_answer_as_text(tmp_path):
    entry = {"id": 1, "prompt": "Total?", "expectations": ["States the total"], "expected_output": "42 euros"}
    (task,) = load_tasks(skill_with(tmp_path, {"evals": [entry]}), verifier="contains")
    assert (task.verifier, task.target) == ("contains", "42 euros")


@pytest.mark.parametrize("own", [{}, {"verifier": "numeric"}])
def test_a_text_verifier_without_expected_output_is_refused(tmp_path, own):
    entry = {"id": 1, "prompt": "Total?", "expectations": ["States the total"], **own}
    with pytest.raises(TaskError, match=r"cannot grade expectations in prose") as caught:
        load_tasks(skill_with(tmp_path, {"evals": [entry]}), verifier="contains")
    assert caught.value.where.endswith("evals.json: evals[0]")


def test_contains_assertions_stay_with_the_verifier_contains(tmp_path):
    entry = {"prompt": "x", "assertions": [{"type": "contains", "value": "yes"}], "expected_output": "prose"}
    (task,) = load_tasks(skill_with(tmp_path, {"evals": [entry]}), verifier="contains")
    assert task.target == {"all": ["yes"], "none": []}


def test_queries_of_a_trigger_evaluation_are_read(tmp_path):
    entries = [{"query": "Chart my sales", "should_trigger": True}, {"query": "Hello", "should_trigger": False}]
    tasks = load_tasks(skill_with(tmp_path, entries))
    assert [(task.input, task.should_trigger) for task in tasks] == [("Chart my sales", True), ("Hello", False)]
