"""Reading questions: what is shown, in which order, and what is said when data are missing or broken."""

from __future__ import annotations

import json
import random
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.errors import TaskError
from skillsv_bench.benchmark import Source
from skillsv_bench.livemath.tasks import load, shuffle


def test_all_questions_are_read_in_the_order_of_the_files(data):
    loaded = load(Source(data=data))
    assert [task.id for task in loaded.tasks] == [
        "209901:1", "209901:2", "209901:5", "209901:7", "209902:1", "209902:2", "209902:4", "209902:12",
    ]  # fmt: skip
    assert {task.stratum for task in loaded.tasks} == {"209901", "209902"}
    assert loaded.rejected == loaded.notes == ()


def test_the_inner_folder_serves_as_well(data):
    assert load(Source(data=data / "data")).tasks == load(Source(data=data)).tasks


def test_choices_are_shuffled_by_the_published_formula(data):
    file = data / "data/209901/qa_209901_final.json"
    raw = json.loads(file.read_text())[0]["mcq"]
    texts = [choice["text"] for choice in raw["choices"]] + [raw["correct_choice"]["text"]]
    random.Random(int(sha256(b"42:209901:1").hexdigest()[:16], 16)).shuffle(texts)
    task = load(Source(data=data)).tasks[0]
    assert [choice["text"] for choice in task.metadata["choices"]] == texts
    assert [choice["label"] for choice in task.metadata["choices"]] == list("ABCDE")
    assert task.target == "ABCDE"[texts.index(raw["correct_choice"]["text"])]


@given(name=st.text(max_size=12), texts=st.lists(st.text(max_size=3), unique=True, max_size=12))
def test_a_shuffle_loses_nothing_and_depends_on_the_name_alone(name, texts):
    assert sorted(shuffle(name, texts)) == sorted(texts)
    assert shuffle(name, texts) == shuffle(name, tuple(texts))


def test_orders_are_fixed_for_ever():
    assert "".join(shuffle("202602:12", "BCDEA")) == "BCDAE"
    assert "".join(shuffle("202511:3", "BCDEA")) == "BACDE"


def test_a_right_choice_that_is_listed_already_is_not_listed_twice(data):
    file = data / "data/209901/qa_209901_final.json"
    items = json.loads(file.read_text())
    items[0]["mcq"]["choices"].append(items[0]["mcq"]["correct_choice"])
    file.write_text(json.dumps(items))
    task = load(Source(data=data)).tasks[0]
    assert len(task.metadata["choices"]) == 5


def test_theorem_and_sketch_stay_hidden_and_so_does_the_label(data):
    for task in load(Source(data=data)).tasks:
        shown = msgspec.json.encode([task.input, task.metadata]).decode()
        assert "SECRET" not in shown
        assert "correct" not in shown
        assert set(task.metadata) == {"question", "choices"}
        assert all(set(choice) == {"label", "text"} for choice in task.metadata["choices"])


def test_a_split_comes_in_the_order_of_its_manifest(data, manifest):
    manifest("val", "209902:4", "209901:2")
    loaded = load(Source(data=data, split="val"))
    assert [task.id for task in loaded.tasks] == ["209902:4", "209901:2"]
    assert loaded.notes == ("The released manifest of the split val has 2 tasks; the paper says 18.",)


def test_digests_change_with_the_words_and_not_with_the_place(data, tmp_path):
    before = {task.id: task.digest for task in load(Source(data=data)).tasks}
    moved = data.rename(tmp_path / "moved")
    assert {task.id: task.digest for task in load(Source(data=moved)).tasks} == before
    file = moved / "data/209901/qa_209901_final.json"
    file.write_text(file.read_text().replace("can be said about", "is known of"))
    after = {task.id: task.digest for task in load(Source(data=moved)).tasks}
    assert {name for name in after if after[name] != before[name]} == {"209901:2"}


def test_missing_questions_are_counted_and_named(data, manifest):
    manifest("test", "209901:1", *(f"209905:{number}" for number in range(1, 6)))
    with pytest.raises(
        TaskError, match=r"5 of the 6 tasks of the split test are missing \(209905:1, .*\.\.\.\)"
    ) as told:
        load(Source(data=data, split="test"))
    assert "Hugging Face" in str(told.value)
    assert told.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "cannot be read"), ("{}", "cannot be read"), ('"x"', "cannot be read"), ("\xff", "cannot be read")],
)
def test_a_broken_file_is_named(data, text, words):
    file = data / "data/209902/qa_209902_final.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(TaskError, match=words) as told:
        load(Source(data=data))
    assert told.value.where == str(file)


def test_no_folder_and_an_empty_folder_say_where_data_come_from(tmp_path):
    for place, words in ((tmp_path / "none", "no such folder"), (tmp_path, "no files MONTH/qa_MONTH_final.json")):
        with pytest.raises(TaskError, match=words) as told:
            load(Source(data=place))
        assert "LiveMathematicianBench" in str(told.value)


@pytest.mark.parametrize("change", [{"mcq": None}, {"no": "one"}, {"mcq": {"question": " ", "choices": []}}])
def test_an_item_that_cannot_be_used_is_rejected_by_name(data, change):
    file = data / "data/209901/qa_209901_final.json"
    items = json.loads(file.read_text())
    items[1].update(change)
    file.write_text(json.dumps(items))
    loaded = load(Source(data=data))
    assert len(loaded.tasks) == 7
    assert [task.id for task in loaded.rejected] == [f"209901:{items[1]['no']}"]


def test_a_rejected_item_of_a_split_is_not_missing(data, manifest):
    file = data / "data/209901/qa_209901_final.json"
    items = json.loads(file.read_text())
    items[0]["mcq"] = {}
    file.write_text(json.dumps(items))
    manifest("val", "209901:1", "209901:2")
    loaded = load(Source(data=data, split="val"))
    assert ([task.id for task in loaded.tasks], [task.id for task in loaded.rejected]) == (["209901:2"], ["209901:1"])


def test_the_same_question_twice_is_an_error(data):
    file = data / "data/209901/qa_209901_final.json"
    items = json.loads(file.read_text())
    file.write_text(json.dumps([*items, items[0]]))
    with pytest.raises(TaskError, match="209901:1 is there twice"):
        load(Source(data=data))


def test_a_link_out_of_the_data_folder_is_not_followed(data, tmp_path):
    outside = tmp_path / "qa_209903_final.json"
    outside.write_text((data / "data/209901/qa_209901_final.json").read_text().replace("209901", "209903"))
    (data / "data/209903").mkdir()
    (data / "data/209903/qa_209903_final.json").symlink_to(outside)
    assert {task.stratum for task in load(Source(data=data)).tasks} == {"209901", "209902"}


def test_the_published_splits_are_complete(shared):
    train, val = (load(Source(data=shared / "livemath", split=split)) for split in ("train", "val"))
    assert (len(train.tasks), len(val.tasks)) == (35, 17)
    assert not {task.id for task in train.tasks} & {task.id for task in val.tasks}
    assert all(len(task.metadata["choices"]) == 5 for task in (*train.tasks, *val.tasks))
    assert val.notes
    with pytest.raises(TaskError, match="125 of the 125 tasks of the split test are missing"):
        load(Source(data=shared / "livemath", split="test"))
