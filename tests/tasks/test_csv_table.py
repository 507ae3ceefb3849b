"""Tasks from CSV: cells, separators, and where a broken row stands."""

import pytest

from skillsv.errors import TaskError
from skillsv.tasks import load_tasks


def csv_file(folder, text, encoding="utf-8"):
    path = folder / "tasks.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_columns_are_the_keys_of_a_task(tmp_path):
    (tmp_path / "data.csv").write_text("1")
    text = (
        "id,input,target,stratum,files,verifier,metadata,should_trigger,author\n"
        't1,"Where is it, please?",logistics,delivery,data.csv,contains,"{""shop"": 3}",yes,Ann\n'
        't2,How many?,"[1, 2]",,,numeric,,,\n'
    )
    one, two = load_tasks(csv_file(tmp_path, text))
    assert (one.id, one.input, one.target, one.stratum) == ("t1", "Where is it, please?", "logistics", "delivery")
    assert (set(one.files), one.verifier, one.metadata) == ({"data.csv"}, "contains", {"shop": 3})
    assert (one.should_trigger, one.undeclared) == (True, {"author": "Ann"})
    assert (two.target, two.should_trigger, two.verifier) == ([1, 2], None, "numeric")


@pytest.mark.parametrize("separator", [";", "\t"])
def test_separators_and_marks_of_spreadsheets_are_understood(tmp_path, separator):
    text = f"\ufeffinput{separator}target\r\nWhat?{separator}a, b\r\n"
    (task,) = load_tasks(csv_file(tmp_path, text))
    assert (task.input, task.target) == ("What?", "a, b")


def test_a_task_without_id_keeps_its_id_when_rows_are_added(tmp_path):
    (before,) = load_tasks(csv_file(tmp_path, "input,target\nWhat?,a\n"))
    after = load_tasks(csv_file(tmp_path, "input,target\nNew?,b\nWhat?,a\n"))
    assert after[1].id == before.id != after[0].id


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('id,input,verifier\n1,"two\nlines",exact\n2,x,exakt\n', 4, "no verifier `exakt`"),
        ("id,input\n1,a,b\n", 2, "3 cells"),
        ("id,input\n1,\n", 2, "no `input`"),
        ("id,input,id\n1,a,2\n", 1, "occurs twice"),
        ("id,input,metadata\n1,a,{x\n", 2, "not JSON"),
        ("input,should_trigger\na,perhaps\n", 2, "not true or false"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(tmp_path, text, line, message):
    path = csv_file(tmp_path, text)
    with pytest.raises(TaskError, match=message) as caught:
        load_tasks(path)
    assert caught.value.where == f"{path}:{line}"


def test_text_that_is_not_utf8_is_refused(tmp_path):
    with pytest.raises(TaskError, match="not UTF-8"):
        load_tasks(csv_file(tmp_path, "input\nWé?\n", "latin-1"))


def test_columns_with_underscores_are_promptfoo_tests(tmp_path):
    text = "question,__expected,__expected2\nTotal?,icontains: 42,not-icontains: sorry\nName?,Ann: Lee,\n"
    one, two = load_tasks(csv_file(tmp_path, text))
    assert (one.input, one.verifier) == ("Total?", "all")
    assert one.target == [
        {"verifier": "contains", "target": "42"},
        {"verifier": "contains", "target": "sorry", "not": True},
    ]
    assert (two.verifier, two.target) == ("exact", "Ann: Lee")
