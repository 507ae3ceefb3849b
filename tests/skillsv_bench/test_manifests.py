"""Manifests are found beside the data or where they are said to be, and a split is there as a whole or not at all."""

import json

import pytest

from skillsv.errors import TaskError
from skillsv_bench.benchmark import PaperSetting, Source
from skillsv_bench.manifests import manifest_notes, read_items, refuse_missing, refuse_partial

FOLDER = "quiz_id_split"
PAPER = PaperSetting(tasks={"train": 2, "test": 9}, panel_a=1, panel_b=1, turns=1)


def write(base, split, names):
    file = base / split / "items.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([{"id": name} for name in names]))


@pytest.mark.parametrize("where", ["data/splits/quiz_id_split", "splits/quiz_id_split", "data/quiz_id_split"])
def test_manifests_are_found_in_the_data_folder_and_beside_it(tmp_path, where):
    write(tmp_path / where, "train", ["a", "b"])
    items = read_items(Source(data=tmp_path / "data", split="train"), FOLDER)
    assert items is not None
    assert [item["id"] for item in items] == ["a", "b"]


@pytest.mark.parametrize("given", ["elsewhere", "elsewhere/quiz_id_split"])
def test_a_folder_that_is_named_goes_first(tmp_path, given):
    write(tmp_path / "splits" / FOLDER, "train", ["wrong"])
    write(tmp_path / "elsewhere" / FOLDER, "train", ["right"])
    items = read_items(Source(data=tmp_path / "data", split="train", splits=tmp_path / given), FOLDER)
    assert items is not None
    assert items[0]["id"] == "right"


def test_a_named_folder_without_manifests_is_refused(tmp_path):
    with pytest.raises(TaskError, match="no manifests here"):
        read_items(Source(data=tmp_path, split="test", splits=tmp_path), FOLDER)


def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(TaskError, match="no split 'tests'"):
        read_items(Source(data=tmp_path, split="tests"), FOLDER)


def test_a_broken_manifest_is_named(tmp_path):
    write(tmp_path / "splits" / FOLDER, "train", [])
    (tmp_path / "splits" / FOLDER / "train" / "items.json").write_text("[1, 2")
    with pytest.raises(TaskError, match="cannot be read"):
        read_items(Source(data=tmp_path, split="train"), FOLDER)


def test_notes_say_what_differs_from_the_paper(tmp_path):
    source = Source(data=tmp_path, split="train")
    assert manifest_notes(source, ({}, {}), PAPER) == ()
    assert "has 3 tasks; the paper says 2" in manifest_notes(source, ({}, {}, {}), PAPER)[0]
    assert "no manifest" in manifest_notes(source, None, PAPER)[0]
    assert manifest_notes(Source(data=tmp_path), None, PAPER) == ()


def test_everything_is_refused_where_a_split_is_there_in_part(tmp_path):
    write(tmp_path / "splits" / FOLDER, "train", ["a", "b", "c"])
    write(tmp_path / "splits" / FOLDER, "test", ["x", "y"])
    whole = Source(data=tmp_path)
    refuse_partial(whole, FOLDER, {"a", "b", "c"}, hint="")
    refuse_partial(whole, FOLDER, {"more"}, hint="")
    with pytest.raises(TaskError, match=r"2 of the 3 tasks of the split train are missing \(b, c\)"):
        refuse_partial(whole, FOLDER, {"a", "x", "y"}, hint="")


def test_many_missing_tasks_are_counted_and_the_first_named(tmp_path):
    with pytest.raises(TaskError, match=r"5 of the 6 tasks of the split test are missing \(b, c, d, \.\.\.\)"):
        refuse_missing(Source(data=tmp_path, split="test"), list("abcdef"), {"a"}, hint="")
