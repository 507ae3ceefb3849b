"""Tasks from datasets of Inspect."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from skillsv.errors import SettingsError, TaskError
from skillsv.tasks import load_tasks, tasks_folder

TASKS = """
from inspect_ai import SampleSource, Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageSystem, ChatMessageUser

@task
def plain(count: int = 2):
    return Task(dataset=[Sample(input=f"{n}?", target="yes", metadata={"stratum": "s", "n": n}) for n in range(count)])

@task
def rich():
    talk = [ChatMessageSystem(content="Be kind."), ChatMessageUser(content="Hello?")]
    return Task(dataset=[
        Sample(id="talk", input=talk, target=["hi", "hello"]),
        Sample(id=7, input="Pick.", choices=["a", "b"], target="A", files={"in.txt": "data.txt"}, setup="echo"),
    ])

@task
def from_file():
    return Task(dataset=json_dataset("samples.jsonl"))

@task
def twice():
    return Task(dataset=[Sample(id="a", input="x"), Sample(id="a", input="y")])

@task
def dynamic():
    return Task(dataset=SampleSource())

@task
def breaks():
    raise RuntimeError("not [bold]ready[/bold] today")

def nothing():
    return 1
"""
LINE_OF_ERROR = 1 + next(number for number, line in enumerate(TASKS.splitlines()) if "RuntimeError" in line)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "tasks.py").write_text(textwrap.dedent(TASKS))
    (tmp_path / "evals" / "samples.jsonl").write_text('{"input": "q", "target": "a", "id": "one"}\n')
    (tmp_path / "data.txt").write_text("first")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_samples_become_tasks_with_the_inspect_verifier_by_default(folder):
    first, second = load_tasks(Path("inspect:evals/tasks.py@plain"))
    assert (first.id, first.input, first.target, first.stratum, first.verifier) == ("1", "0?", "yes", "s", "inspect")
    assert second.metadata == {"stratum": "s", "n": 1}
    assert {task.verifier for task in load_tasks(Path("inspect:evals/tasks.py@plain"), verifier="exact")} == {"exact"}


def test_arguments_are_passed_to_the_task_without_the_model(folder):
    assert len(load_tasks(Path("inspect:evals/tasks.py@plain?count=5&model=mockllm/model"))) == 5


def test_messages_choices_files_and_setup_become_metadata(folder):
    talk, pick = load_tasks(Path("inspect:evals/tasks.py@rich"))
    assert (talk.input, talk.target) == ("system: Be kind.\n\nuser: Hello?", ["hi", "hello"])
    assert [message["role"] for message in talk.metadata["inspect"]["messages"]] == ["system", "user"]
    expected = {"choices": ["a", "b"], "files": {"in.txt": "data.txt"}, "setup": "echo"}
    assert (pick.id, pick.metadata["inspect"]) == ("7", expected)


def test_digest_covers_the_contents_of_the_files_of_a_sample(folder):
    before = {task.id: task.digest for task in load_tasks(Path("inspect:evals/tasks.py@rich"))}
    (folder / "data.txt").write_text("second")
    after = {task.id: task.digest for task in load_tasks(Path("inspect:evals/tasks.py@rich"))}
    assert before["talk"] == after["talk"]
    assert before["7"] != after["7"]


def test_paths_in_the_file_are_relative_to_its_folder(folder, monkeypatch, tmp_path):
    (task,) = load_tasks(Path("inspect:evals/tasks.py@from_file"))
    absolute = Path("inspect:evals/tasks.py@from_file").absolute()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_tasks(absolute) == (task,)
    assert load_tasks(Path(f"inspect:{folder}/evals/tasks.py@from_file")) == (task,)
    assert tasks_folder(absolute) == folder / "evals"


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ("evals/tasks.py@twice", TaskError, "The task id `a` occurs twice"),
        ("evals/tasks.py@dynamic", TaskError, "makes its samples while it runs"),
        ("evals/tasks.py", SettingsError, "does not name a task. Write inspect:FILE.py@task"),
        ("evals/none.py@plain", SettingsError, "There is no such file"),
        ("evals/tasks.py@missing", SettingsError, "The file has no `missing`"),
        ("evals/tasks.py@nothing", SettingsError, "`nothing` makes int, no task of Inspect"),
        (
            "evals/tasks.py@breaks",
            SettingsError,
            f"tasks.py:{LINE_OF_ERROR}: Making the task failed: RuntimeError: not ready today.",
        ),
        ("evals/tasks.py@plain?colour=red", SettingsError, "unexpected keyword argument 'colour'"),
        ("evals/tasks.py@plain?count", SettingsError, "`?count` cannot be read"),
    ],
)
def test_invalid_specification_is_reported_in_one_line(folder, spec, error, words):
    with pytest.raises(error) as caught:
        load_tasks(Path(f"inspect:{spec}"))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
