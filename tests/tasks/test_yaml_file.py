"""Tasks from YAML: words keep their meaning, and errors name the line."""

import pytest

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks


def yaml_file(folder, text):
    path = folder / "tasks.yaml"
    path.write_text(text)
    return path


def test_a_list_of_tasks_is_read(tmp_path):
    text = (
        "- id: t1\n  input: Where?\n  target: here\n  verifier: contains\n- input: |\n    two\n    lines\n  target: 3\n"
    )
    one, two = load_tasks(yaml_file(tmp_path, text))
    assert (one.id, one.input, one.target, one.verifier) == ("t1", "Where?", "here", "contains")
    assert (two.input, two.target, two.id[:2]) == ("two\nlines\n", 3, "t-")


@pytest.mark.parametrize(
    ("written", "read"),
    [("no", "no"), ("12:30", "12:30"), ("007", "007"), ("2024-01-02", "2024-01-02"), ("true", True), ("2.5", 2.5)],
)
def test_words_that_yaml_1_1_would_change_stay_as_they_are(tmp_path, written, read):
    (task,) = load_tasks(yaml_file(tmp_path, f"tasks:\n- input: x\n  target: {written}\n"))
    assert task.target == read


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- input: x\n- input: y\n  verifier: exakt\n", 2, "no verifier `exakt`"),
        ("- input: x\n  target: [1\n", 3, "not YAML"),
        ("- just a text\n", 1, "must be a mapping"),
    ],
)
def test_a_broken_task_is_refused_with_its_line(tmp_path, text, line, message):
    path = yaml_file(tmp_path, text)
    with pytest.raises(TaskError, match=message) as caught:
        load_tasks(path)
    assert caught.value.where == f"{path}:{line}"


@pytest.mark.parametrize("text", ["a: 1\n", "", "- &a [*a]\n", "- !!python/object/apply:os.system [true]\n"])
def test_files_without_a_list_of_tasks_and_dangerous_ones_are_refused(tmp_path, text):
    with pytest.raises(TaskError):
        load_tasks(yaml_file(tmp_path, text))
