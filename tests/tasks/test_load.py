"""The format of tasks, and the errors if there are no tasks."""

from __future__ import annotations

import pytest

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks, make_verifier, tasks_folder


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_file_without_tasks_is_refused(tmp_path, text):
    (tmp_path / "t.jsonl").write_text(text, "utf-8")
    with pytest.raises(TaskError, match="There are no tasks here"):
        load_tasks(tmp_path / "t.jsonl")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(TaskError, match=r"none\.jsonl: There is no such file or folder"):
        load_tasks(tmp_path / "none.jsonl")


def test_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(TaskError, match="holds no tasks"):
        load_tasks(tmp_path)


@pytest.mark.parametrize(
    ("given", "folder"),
    [("t.jsonl", "."), ("skill", "skill/evals"), ("skill/evals/evals.json", "skill/evals"), ("harbor", "harbor")],
)
def test_verifier_files_are_relative_to_the_tasks_in_every_format(tmp_path, given, folder):
    (tmp_path / "skill" / "evals").mkdir(parents=True)
    (tmp_path / "harbor" / "one").mkdir(parents=True)
    (tmp_path / "harbor" / "one" / "instruction.md").write_text("Do it.")
    (tmp_path / "t.jsonl").write_text('{"id": "a", "input": "x"}')
    (tmp_path / "skill" / "evals" / "evals.json").write_text('{"evals": [{"id": 1, "prompt": "x"}]}')
    assert tasks_folder(tmp_path / given) == tmp_path / folder
    spec = "python:check.py:score"
    without_file = load_tasks(tmp_path / given, verifier=spec)
    (tmp_path / folder / "check.py").write_text("def score(task, answer): return 1\n")
    with_file = load_tasks(tmp_path / given, verifier=spec)
    assert with_file[0].digest != without_file[0].digest
    make_verifier(with_file, folder=tasks_folder(tmp_path / given), default=None)
