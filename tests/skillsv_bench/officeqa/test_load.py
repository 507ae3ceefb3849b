"""Reading questions and documents: layout, splits, and what is said when data are missing, broken or hostile."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import msgspec
import pytest

from skillsv.errors import TaskError
from skillsv_bench.benchmark import Source
from skillsv_bench.officeqa.tasks import load, split_names

TABLE = "officeqa_full.csv"
DOCUMENTS = "treasury_bulletins_parsed/transformed"


def rewrite(data: Path, change) -> None:
    with (data / TABLE).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    change(rows)
    with (data / TABLE).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_questions_come_with_their_own_documents_and_no_others(data):
    loaded = load(Source(data=data))
    assert len(loaded.tasks) == 14
    assert loaded.rejected == loaded.notes == ()
    task = next(task for task in loaded.tasks if task.id == "VID0007")
    assert list(task.files) == ["harbour_bulletin_1971_07.txt", "harbour_bulletin_1977_10.txt"]
    assert all(path == data / DOCUMENTS / name for name, path in task.files.items())
    assert (task.target, task.stratum) == ("1,028,400", "hard")
    assert {task.stratum for task in loaded.tasks} == {"easy", "hard"}


def test_the_answer_is_nowhere_but_in_the_target(data):
    rewrite(data, lambda rows: [row.update(answer="SECRET") for row in rows])
    for task in load(Source(data=data)).tasks:
        assert "SECRET" not in msgspec.json.encode([task.input, task.metadata, sorted(task.files)]).decode()


@pytest.mark.parametrize(("split", "count"), [("train", 3), ("val", 2), ("test", 9)])
def test_a_split_comes_in_the_order_of_its_manifest(data, split, count):
    loaded = load(Source(data=data, split=split))
    ids = [item["id"] for item in json.loads((data / f"officeqa_id_split/{split}/items.json").read_text())]
    assert [task.id for task in loaded.tasks] == ids
    assert len(ids) == count
    assert f"has {count} tasks; the paper says" in loaded.notes[0]


def test_the_splits_share_no_question(data):
    ids = [task.id for split in ("train", "val", "test") for task in load(Source(data=data, split=split)).tasks]
    assert len(ids) == len(set(ids)) == 14


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("a.txt", ("a.txt",)),
        ("a.txt\r\nb.txt", ("a.txt", "b.txt")),
        ("a.txt\nb.txt\n", ("a.txt", "b.txt")),
        (" a.txt ; b.txt;", ("a.txt", "b.txt")),
        ("a.txt\na.txt", ("a.txt",)),
        ("a, b.txt", ("a, b.txt",)),
        (" \r\n", ()),
    ],
)
def test_a_field_may_name_several_files(field, names):
    assert split_names(field) == names


def test_documents_may_lie_anywhere_below_and_transformed_goes_first(data):
    name = "harbour_bulletin_1970_01.txt"
    (data / name).write_text("another text of the same name")
    first = load(Source(data=data)).tasks[0]
    assert first.files[name] == data / DOCUMENTS / name
    (data / DOCUMENTS / name).unlink()
    assert load(Source(data=data)).tasks[0].files[name] == data / name


def test_digests_change_with_the_documents_and_not_with_the_place(data, tmp_path):
    before = {task.id: task.digest for task in load(Source(data=data)).tasks}
    moved = data.rename(tmp_path / "moved")
    assert {task.id: task.digest for task in load(Source(data=moved)).tasks} == before
    document = moved / DOCUMENTS / "harbour_bulletin_1973_04.txt"
    document.write_text(document.read_text() + "revised\n")
    after = {task.id: task.digest for task in load(Source(data=moved)).tasks}
    assert {name for name in after if after[name] != before[name]} == {"VID0004", "VID0005"}


def test_other_names_of_the_table(data):
    (data / TABLE).rename(data / "officeqa_pro.csv")
    assert len(load(Source(data=data)).tasks) == 14
    (data / "officeqa_pro.csv").rename(data / "mine.csv")
    assert len(load(Source(data=data)).tasks) == 14
    (data / "other.csv").write_text("x\n")
    with pytest.raises(TaskError, match=r"are 2 CSV files and none is called officeqa_full\.csv"):
        load(Source(data=data))


def test_no_folder_and_no_table_say_where_data_come_from(data):
    (data / TABLE).unlink()
    for place, words in ((data / "none", "no such folder"), (data, "there is no CSV file here")):
        with pytest.raises(TaskError, match=words) as told:
            load(Source(data=place))
        assert "databricks/officeqa" in str(told.value)
        assert told.value.exit_code == 2


def test_missing_documents_are_counted_and_named(data):
    for document in (data / DOCUMENTS).glob("*_1977_*.txt"):
        document.unlink()
    with pytest.raises(TaskError, match=r"2 of the 12 documents are missing \(harbour_bulletin_1977_04\.txt, ") as told:
        load(Source(data=data))
    assert told.value.where == str(data)
    assert len(load(Source(data=data, split="train")).tasks) == 3  # whose documents are all there


def test_missing_questions_are_counted_and_named(data):
    rewrite(data, lambda rows: rows.pop(0))
    for split in ("train", "all"):  # everything is no excuse for a split that is there in part
        with pytest.raises(TaskError, match=r"1 of the 3 tasks of the split train are missing \(VID0001\)"):
            load(Source(data=data, split=split))
    assert len(load(Source(data=data, split="val")).tasks) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", "cannot be read"),
        (b'uid,question,answer,source_docs,source_files\n1,"open', "cannot be read"),
        (b"uid,question\n1,2\n", "no column answer and no column source_docs and no column source_files"),
        (b"", "no column uid"),
        (b"uid,question,answer,source_docs,source_files\n", "none of the 0 questions"),
        (b"uid,question,answer,source_docs,source_files\nu,q,a,,a.txt\nu,q,a,,a.txt\n", "u is there twice"),
    ],
)
def test_a_broken_table_is_named(data, content, words):
    (data / TABLE).write_bytes(content)
    with pytest.raises(TaskError, match=words) as told:
        load(Source(data=data))
    assert told.value.where == str(data / TABLE)


def test_a_question_without_answer_is_rejected_by_name(data):
    rewrite(data, lambda rows: rows[1].update(answer=" "))
    loaded = load(Source(data=data))
    assert [(task.id, task.why) for task in loaded.rejected] == [("VID0002", "it has no answer.")]
    assert len(loaded.tasks) == 13


def test_answers_that_are_all_withheld_are_said_to_be(data):
    rewrite(data, lambda rows: [row.update(answer="") for row in rows])
    with pytest.raises(TaskError, match="none of the 14 questions has a question, an answer and documents"):
        load(Source(data=data))


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "sub/a.txt", "..", "a\\b.txt", "a\0.txt"])
def test_a_document_that_is_a_way_out_is_refused(data, name, tmp_path):
    (tmp_path / "secret.txt").write_text("no")
    content = (data / TABLE).read_bytes().replace(b"harbour_bulletin_1970_01.txt", name.encode(), 1)
    (data / TABLE).write_bytes(content)
    with pytest.raises(TaskError, match=r"no plain file name|cannot be read"):
        load(Source(data=data))


def test_a_link_out_of_the_data_folder_is_no_document(data, tmp_path):
    name = "harbour_bulletin_1970_01.txt"
    (tmp_path / "secret.txt").write_text("no")
    (data / DOCUMENTS / name).unlink()
    (data / DOCUMENTS / name).symlink_to(tmp_path / "secret.txt")
    with pytest.raises(TaskError, match=r"1 of the 12 documents are missing \(harbour_bulletin_1970_01\.txt\)"):
        load(Source(data=data))


def test_the_released_manifests_name_plain_files():
    place = Path(__file__).resolve().parents[3] / "../shared/benchmarks/splits/officeqa_id_split"
    if not place.is_dir():
        pytest.skip("the released manifests are not in ../shared/benchmarks/splits")
    items = [
        item for split in ("train", "val", "test") for item in json.loads((place / split / "items.json").read_text())
    ]
    assert len(items) == 246
    names = [split_names(item["source_files"]) for item in items]
    assert max(map(len, names)) == 12
    assert all(name.startswith("treasury_bulletin_") and name.endswith(".txt") for some in names for name in some)
