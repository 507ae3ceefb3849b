"""Tasks read from upstream's layout, and one sentence for everything that can be missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from skillsv.errors import TaskError
from skillsv_bench.benchmark import RejectedTask, Source
from skillsv_bench.spreadsheetbench import BENCHMARK
from skillsv_bench.spreadsheetbench.tasks import load


def loaded(data, **more):
    return load(Source(data=data.folder, **more))


def test_tasks_carry_all_that_an_agent_needs_and_no_gold(data):
    tasks = loaded(data).tasks
    assert [task.id for task in tasks] == ["101", "7-12", "202", "31-5", "303"]
    assert [task.stratum for task in tasks[:2]] == ["Cell-Level Manipulation", "Sheet-Level Manipulation"]
    task = tasks[3]
    assert dict(task.files) == {"input.xlsx": data.file("31-5", "input")}
    assert task.target == str(data.file("31-5", "answer"))
    assert task.verifier == "spreadsheetbench/1"
    assert dict(task.metadata) == {
        "instruction": "Do the sum of task 31-5.",
        "instruction_type": "Sheet-Level Manipulation",
        "answer_position": "E2:E4",
        "answer_sheet": "Shop",
    }
    assert "Answer position: Shop!E2:E4\n" in task.input
    assert "A2=apple | B2=1.5" in task.input
    assert "answer.xlsx" not in task.input
    assert "cheap" not in task.input


def test_a_digest_covers_the_task_but_not_the_folder_of_the_data(data, book, tmp_path):
    before = {task.id: task.digest for task in loaded(data).tasks}
    assert len(set(before.values())) == 5
    book(data.file(101, "answer"), {"Shop": {"C2": 4}})
    book(data.file("7-12", "input"), {"Shop": {"A1": 4}})
    data.items[2]["answer_position"] = "D3"
    data.items[3]["instruction"] = "Another."
    data.save()
    after = {task.id: task.digest for task in loaded(data).tasks}
    assert {name for name in before if before[name] == after[name]} == {"303"}
    shutil.move(data.folder, tmp_path / "moved")
    assert {task.id: task.digest for task in load(Source(data=tmp_path / "moved")).tasks} == after


def test_what_cannot_be_scored_is_named_and_the_rest_is_kept(data):
    shop = {"Shop": {"A1": 1}}
    data.add("1-1", "'b2b, sez, de'!A5:V10", "b2b, sez, de", shop, {**shop, "b2b, sez, de": {"A5": 1}})
    data.add(2, "G12：J15", "", shop, shop)
    data.add("3-3", "Shop'!A:G", "", shop, shop)
    data.add("4-4", "A3:E11", "Shop,Stock", shop, shop)
    data.items.append({"id": 5, "instruction": "Count."})
    shutil.copytree(data.folder / "spreadsheet" / "101", data.folder / "spreadsheet" / "5")
    for which in ("input", "answer"):
        data.file(101, which).parent.with_name("5").joinpath(f"1_101_{which}.xlsx").rename(data.file(5, which))
    data.save()
    found = loaded(data)
    assert len(found.tasks) == 5
    assert found.rejected == (
        RejectedTask(
            id="1-1", why="the name of the sheet 'b2b, sez, de' has a comma, which divides the answer position."
        ),
        RejectedTask(id="2", why="the answer position 'G12：J15' is not a range of cells (its colon is full-width)."),
        RejectedTask(id="3-3", why="the answer position 'Shop'!A:G' is not a range of cells."),
        RejectedTask(
            id="4-4", why="the answer belongs on a sheet 'Shop,Stock', which the gold workbook does not have."
        ),
        RejectedTask(id="5", why="the item cannot be used: Object missing required field `instruction_type`."),
    )


@pytest.mark.parametrize(
    ("before", "gold"), [("1_202_init.xlsx", "1_202_golden.xlsx"), ("initial.xlsx", "golden.xlsx")]
)
def test_the_names_of_the_verified_release_will_do(data, before, gold):
    folder = data.file(202, "input").parent
    data.file(202, "input").rename(folder / before)
    data.file(202, "answer").rename(folder / gold)
    task = next(task for task in loaded(data).tasks if task.id == "202")
    assert task.target == str(folder / gold)
    assert dict(task.files) == {"input.xlsx": folder / before}


def test_the_only_workbooks_of_a_folder_are_taken_whatever_their_number(data):
    digests = [task.digest for task in loaded(data).tasks]
    folder = data.file(202, "answer").parent
    data.file(202, "input").rename(folder / "1_202_init.xlsx")
    data.file(202, "answer").rename(folder / "1_302_golden.xlsx")
    found = loaded(data)
    assert [task.digest for task in found.tasks] == digests
    assert next(task.target for task in found.tasks if task.id == "202") == str(folder / "1_302_golden.xlsx")
    assert found.rejected == ()
    assert found.notes == (
        "Task 202 uses the only two workbooks of its folder, 1_202_init.xlsx and 1_302_golden.xlsx.",
    )


def test_a_task_whose_workbooks_are_unclear_is_rejected_and_the_rest_kept(data):
    folder = data.file(202, "answer").parent
    data.file(202, "answer").rename(folder / "1_302_answer.xlsx")
    shutil.copyfile(folder / "1_302_answer.xlsx", folder / "1_402_golden.xlsx")
    data.file("7-12", "answer").unlink()
    found = loaded(data)
    assert [task.id for task in found.tasks] == ["101", "31-5", "303"]
    assert found.rejected == (
        RejectedTask(id="7-12", why="its folder has no gold workbook."),
        RejectedTask(id="202", why="its folder has 2 gold workbooks (1_302_answer.xlsx, 1_402_golden.xlsx)."),
    )


def test_a_folder_without_any_usable_task_is_refused(data):
    for item in data.items:
        data.file(item["id"], "answer").unlink()
    with pytest.raises(TaskError, match=r"none of the 5 tasks can be scored, first 101: its folder has no gold"):
        loaded(data)


def test_a_split_is_the_manifests_in_its_order(data):
    data.manifest("val", "31-5", "101")
    found = loaded(data, split="val")
    assert [task.id for task in found.tasks] == ["31-5", "101"]
    assert found.notes == ("The released manifest of the split val has 2 tasks; the paper says 40.",)
    assert loaded(data).notes == ()


def test_without_manifests_a_split_is_everything_and_says_so(data):
    found = loaded(data, split="test")
    assert len(found.tasks) == 5
    assert "There is no manifest beside the data" in found.notes[0]


def test_what_is_missing_is_one_sentence(data, empty, tmp_path):
    with pytest.raises(TaskError, match=r"there is no such folder.*github.com/RUCKBReasoning/SpreadsheetBench"):
        load(Source(data=tmp_path / "nowhere"))
    empty.folder.mkdir()
    with pytest.raises(TaskError, match=r"there is no dataset.json here"):
        loaded(empty)
    data.manifest("train", "101", "9", "10", "11", "12")
    with pytest.raises(TaskError, match=r"dataset.json has no 4 of the 5 tasks \(9, 10, 11, ...\)"):
        loaded(data, split="train")
    shutil.rmtree(data.file(303, "answer").parent)
    with pytest.raises(TaskError, match=r"there are no workbooks of 1 of the 5 tasks \(303\)"):
        loaded(data)
    data.manifest("val", "101")
    assert len(loaded(data, split="val").tasks) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the tasks cannot be read"),
        ("{", "the tasks cannot be read"),
        ('{"id": 1}', "the tasks cannot be read"),
        ("[]", "there are no tasks in it"),
        ("[1]", "the item has no id that could name a folder: ''"),
        ('[{"id": "../101"}]', r"the item has no id that could name a folder: '../101'"),
        ('[{"id": ".."}]', "no id"),
        ('[{"id": "/etc"}]', "no id"),
        ('[{"id": 1}, {"id": "1"}]', "the task 1 is there twice"),
    ],
)
def test_a_broken_dataset_is_one_sentence(data, text, said):
    (data.folder / "dataset.json").write_text(text)
    with pytest.raises(TaskError, match=said):
        loaded(data)


@pytest.mark.parametrize("which", ["input", "answer"])
def test_a_broken_workbook_is_named(data, which):
    data.file(202, which).write_bytes(b"PK")
    with pytest.raises(TaskError, match=f"1_202_{which}.xlsx: the workbook cannot be read"):
        loaded(data)


def test_links_do_not_lead_out_of_the_data(data, tmp_path):
    outside = tmp_path / "outside.xlsx"
    data.file(202, "answer").rename(outside)
    data.file(202, "answer").symlink_to(outside)
    assert loaded(data).rejected == (RejectedTask(id="202", why="its folder has no gold workbook."),)
    data.file(202, "answer").unlink()
    inside = data.folder / "kept.xlsx"
    outside.rename(inside)
    data.file(202, "answer").symlink_to(inside)
    assert len(loaded(data).tasks) == 5


def test_the_papers_numbers():
    assert dict(BENCHMARK.paper.tasks) == {"train": 80, "val": 40, "test": 280}
    assert (BENCHMARK.paper.panel_a, BENCHMARK.paper.panel_b, BENCHMARK.paper.turns) == (80, 140, 30)


def test_without_openpyxl_it_says_what_to_install():
    code = "import sys; sys.modules['openpyxl'] = None; import skillsv_bench.spreadsheetbench"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stderr.endswith("need the package openpyxl. Install it: pip install 'skillsv[spreadsheet]'.\n")


@pytest.mark.heavy
def test_the_published_splits_load(shared):
    found = load(Source(data=shared))
    ids = {str(item["id"]) for item in json.loads((shared / "dataset.json").read_text())}
    assert {task.id for task in found.tasks} | {task.id for task in found.rejected} == ids
    assert [(task.id, "full-width" in task.why) for task in found.rejected] == [("37456", True)]
    assert len(load(Source(data=shared, split="train")).tasks) == 80
    assert len(load(Source(data=shared, split="val")).tasks) == 39
    with pytest.raises(TaskError, match=r"dataset.json has no 280 of the 280 tasks"):
        load(Source(data=shared, split="test"))


@pytest.mark.heavy
def test_a_published_task_loads_with_a_wrong_number_in_its_gold(shared, tmp_path):
    items = [item for item in json.loads((shared / "dataset.json").read_text()) if str(item["id"]) != "37456"][:2]
    (tmp_path / "dataset.json").write_text(json.dumps(items))
    for item in items:
        name = str(item["id"])
        shutil.copytree(shared / "spreadsheet" / name, tmp_path / "spreadsheet" / name)
    first = str(items[0]["id"])
    (gold,) = (tmp_path / "spreadsheet" / first).glob("*_answer.xlsx")
    gold.rename(gold.with_name("1_0_golden.xlsx"))
    found, published = load(Source(data=tmp_path)), load(Source(data=shared))
    digests = {task.id: task.digest for task in published.tasks}
    assert {task.id: task.digest for task in found.tasks} == {
        name: digests[name] for name in map(str, (i["id"] for i in items))
    }
    assert found.rejected == ()
