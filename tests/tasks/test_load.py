"""Which format is read, and what is said where there is none."""

from __future__ import annotations

import pytest

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_a_file_without_tasks_is_refused(tmp_path, text):
    (tmp_path / "t.jsonl").write_text(text, "utf-8")
    with pytest.raises(TaskError, match="There are no tasks here"):
        load_tasks(tmp_path / "t.jsonl")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TaskError, match=r"none\.jsonl: There is no such file or folder"):
        load_tasks(tmp_path / "none.jsonl")


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(TaskError, match="holds no tasks"):
        load_tasks(tmp_path)
