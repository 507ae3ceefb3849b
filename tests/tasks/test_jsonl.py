"""Tasks from JSON Lines, and the errors for invalid lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.jsonl import RecordContext, read_record


def tasks_of(folder: Path, *lines: object, **options):
    path = folder / "tasks.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return load_tasks(path, **options)


def test_all_fields_are_read(tmp_path):
    (tmp_path / "data.csv").write_text("1")
    (task,) = tasks_of(
        tmp_path,
        {
            "id": "q1",
            "input": "How many?",
            "target": 3,
            "stratum": "easy",
            "files": ["data.csv"],
            "verifier": "numeric",
            "metadata": {"source": "book"},
        },
    )
    assert (task.id, task.input, task.target, task.stratum, task.verifier) == ("q1", "How many?", 3, "easy", "numeric")
    assert task.files == {"data.csv": (tmp_path / "data.csv").resolve()}
    assert task.metadata == {"source": "book"}
    assert len(task.digest) == 64


def test_only_id_and_input_are_required(tmp_path):
    (task,) = tasks_of(tmp_path, {"id": 7, "input": "hi"})
    assert (task.id, task.target, task.stratum, dict(task.files), task.verifier) == ("7", None, "", {}, "")


def test_input_that_is_not_text_becomes_json_text(tmp_path):
    (task,) = tasks_of(tmp_path, {"id": "a", "input": {"question": "é", "n": 1}})
    assert json.loads(task.input) == {"question": "é", "n": 1}


def test_unknown_keys_are_kept_for_the_verifier(tmp_path):
    line = {"id": "a", "input": "x", "author": "me", "answer": "y", "metadata": {"author": "you", "k": 1}}
    (task,) = tasks_of(tmp_path, line)
    assert task.metadata == {"author": "you", "k": 1}
    assert task.all_metadata == {"author": "you", "k": 1, "answer": "y"}


def test_unknown_keys_and_metadata_have_the_same_digest(tmp_path):
    line = {"id": "a", "input": "x"}
    (outside,) = tasks_of(tmp_path, line | {"answer": "y", "metadata": {"k": 1}})
    (inside,) = tasks_of(tmp_path, line | {"metadata": {"k": 1, "answer": "y"}})
    assert outside.digest == inside.digest
    assert outside.metadata != inside.metadata


def test_given_verifier_applies_to_tasks_that_name_none(tmp_path):
    one, two = tasks_of(
        tmp_path, {"id": 1, "input": "x", "verifier": "exact"}, {"id": 2, "input": "x"}, verifier="contains"
    )
    assert (one.verifier, two.verifier) == ("exact", "contains")


def test_blank_lines_byte_order_mark_and_crlf_are_accepted(tmp_path):
    first = b'\xef\xbb\xbf{"id": "a", "input": "x"}\r'
    tasks = tasks_of(tmp_path, first, b"", b"   \r", '{"id": "b", "input": "line\u2028separator"}'.encode(), b"")
    assert [task.id for task in tasks] == ["a", "b"]


INVALID_LINES = [
    (b'{"id": "a", "input": ', "tasks.jsonl:2: This is not JSON"),
    (b"[1, 2]", "tasks.jsonl:2: A task must be a JSON object, not a list."),
    (b'"text"', "not a text."),
    (b'{"input": "x"}', "tasks.jsonl:2: There is no `id`."),
    (b'{"id": "", "input": "x"}', "`id` is an empty text."),
    (b'{"id": true, "input": "x"}', "`id` is true or false."),
    (b'{"id": {"a": 1}, "input": "x"}', "`id` is an object."),
    (b'{"id": "two\\nlines", "input": "x"}', "short text on one line"),
    (b'{"id": "a"}', "tasks.jsonl:2: There is no `input`."),
    (b'{"id": "a", "input": ""}', "`input` is empty."),
    (b'{"id": "a", "input": null}', "`input` is empty."),
    (b'{"id": "a", "input": "x", "stratum": ["s"]}', "`stratum` is a list."),
    (b'{"id": "a", "input": "x", "metadata": 3}', "`metadata` is a number, not an object."),
    (b'{"id": "a", "input": "x", "verifier": 3}', "`verifier` is a number, not a text."),
    (b'{"id": "a", "input": "x", "files": "data.csv"}', "`files` must be a list of paths"),
    (b'{"id": "a", "input": "x", "files": [3]}', "`files` must be a list of paths"),
    (b'{"id": "a", "input": "x", "files": {"a": 3}}', "`files` must be a list of paths"),
    (b'{"id": "a", "input": "x", "targt": "y"}', "The key `targt` is not known. Did you mean `target`?"),
    (b'{"id": "a", "input": "\xff"}', "tasks.jsonl:2: This is not UTF-8 text (byte 22"),
    (b'{"id": "a", "input": NaN}', "This is not JSON"),
    (b'{"id": "first", "input": "x"}', "tasks.jsonl:2: The task id `first` is already used in line 1."),
    (b'{"id": "a", "input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
]


@pytest.mark.parametrize(("line", "sentence"), INVALID_LINES, ids=[sentence[:40] for _, sentence in INVALID_LINES])
def test_invalid_line_is_reported_with_its_number(tmp_path, line, sentence):
    with pytest.raises(TaskError) as caught:
        tasks_of(tmp_path, {"id": "first", "input": "x"}, line)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'tasks.jsonl'}:2: ")
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (["missing.csv"], "`missing.csv` was not found"),
        (["../secret"], "outside the working folder"),
        (["/etc/passwd"], "outside the working folder"),
        ({"ok": "../secret"}, "lies outside the tasks' folder"),
        ({"ok": "/etc/passwd"}, "lies outside the tasks' folder"),
        ({"../up": "inside"}, "outside the working folder"),
        (["link"], "lies outside the tasks' folder"),
        (["dirlink/secret"], "lies outside the tasks' folder"),
        (["loop"], "`loop` was not found"),
        (["folder"], "`folder` is not a file"),
        (["a\0b"], "outside the working folder"),
    ],
)
def test_file_outside_the_folder_of_the_tasks_is_refused(tmp_path, files, sentence):
    home = tmp_path / "tasks"
    (home / "folder").mkdir(parents=True)
    (home / "inside").write_text("x")
    (tmp_path / "secret").write_text("x")
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "dirlink").symlink_to(tmp_path)
    (home / "loop").symlink_to(home / "loop")
    with pytest.raises(TaskError) as caught:
        tasks_of(home, {"id": "a", "input": "x", "files": files})
    assert sentence in str(caught.value)


def test_file_may_have_another_name_in_the_workspace(tmp_path):
    (tmp_path / "v2.csv").write_text("x")
    (task,) = tasks_of(tmp_path, {"id": "a", "input": "x", "files": {"./in/data.csv": "v2.csv"}})
    assert task.files == {"in/data.csv": (tmp_path / "v2.csv").resolve()}


def test_digest_covers_everything_that_agent_and_verifier_see(tmp_path):
    (tmp_path / "data").write_text("1")
    (tmp_path / "check.py").write_text("def score(task, answer): return 1\n")
    base = {"id": "a", "input": "x", "target": "y", "files": ["data"], "verifier": "python:check.py:score"}

    def digest(**change):
        return tasks_of(tmp_path, base | change)[0].digest

    first = digest()
    assert digest() == first
    changed = [
        digest(**change)
        for change in (
            {"id": "b"},
            {"input": "z"},
            {"target": "z"},
            {"stratum": "s"},
            {"files": []},
            {"verifier": "exact"},
        )
    ]
    changed.append(digest(metadata={"k": 1}))
    (tmp_path / "data").write_text("2")
    changed.append(digest())
    (tmp_path / "data").write_text("1")
    assert digest() == first
    (tmp_path / "check.py").write_text("def score(task, answer): return 0\n")
    changed.append(digest())
    assert len({first, *changed}) == len(changed) + 1


def test_digest_does_not_depend_on_the_folder_of_the_tasks(tmp_path):
    digests = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data").write_text("1")
        digests.add(tasks_of(tmp_path / name, {"id": "a", "input": "x", "files": ["data"]})[0].digest)
    assert len(digests) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.heavy
@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["id", "input", "target", "stratum", "files", "verifier", "metadata", "else"]), json_values
    )
)
def test_any_object_is_a_task_or_an_error_with_its_location(record):
    here = Path(__file__).parent
    context = RecordContext(files=here, verifier=None, digester=TaskDigester(here))
    try:
        task = read_record(record, context, "tasks.jsonl:1")
    except TaskError as error:
        message = str(error)
        assert message.startswith("tasks.jsonl:1: ")
        return
    assert task.id
    assert task.input
    assert task.digest


def test_an_unknown_verifier_is_refused_with_its_line(tmp_path):
    with pytest.raises(TaskError, match="no verifier `exakt`") as caught:
        tasks_of(tmp_path, {"id": 1, "input": "a", "verifier": "exact"}, {"id": 2, "input": "b", "verifier": "exakt"})
    assert caught.value.where.endswith("tasks.jsonl:2")
