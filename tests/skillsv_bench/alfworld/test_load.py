"""Reading games: which, by which names, and what is said when some are missing or broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillsv.errors import TaskError
from skillsv_bench.alfworld.tasks import load
from skillsv_bench.benchmark import Source


def game_text(
    goal: str = "put a cup on shelf.", *, solvable: bool = True, walkthrough: tuple[str, ...] = ("win",)
) -> str:
    return json.dumps(
        {
            "pddl_domain": "(define (domain toy))",
            "pddl_problem": "(define (problem toy))",
            "grammar": 'grammar :: """\n{"task": [{"rhs": "Your task is to: ' + goal + '"}]}\n""";',
            "solvable": solvable,
            "walkthrough": list(walkthrough),
        }
    )


def write_game(data: Path, place: str, **words) -> Path:
    file = data / "json_2.1.1" / place / "game.tw-pddl"
    file.parent.mkdir(parents=True)
    file.write_text(game_text(**words))
    return file


def write_manifest(data: Path, split: str, items: list[dict]) -> None:
    file = data / "splits" / "alfworld_path_split" / split / "items.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(items))


PUT, LOOK = (
    "train/pick_and_place_simple-Cup-None-Shelf-1/trial_1",
    "train/look_at_obj_in_light-CD-None-DeskLamp-2/trial_9",
)


@pytest.fixture
def data(tmp_path):
    write_game(tmp_path, PUT)
    write_game(tmp_path, LOOK, goal="look at cd under the desklamp.")
    items = [
        {"id": "train:0000", "gamefile": f"json_2.1.1/{PUT}/game.tw-pddl", "task_type": "pick_and_place_simple"},
        {"id": "train:0001", "gamefile": f"json_2.1.1/{LOOK}/game.tw-pddl", "task_type": "look_at_obj_in_light"},
    ]
    write_manifest(tmp_path, "train", items)
    return tmp_path


def test_a_split_has_the_ids_the_order_and_the_strata_of_its_manifest(data):
    loaded = load(Source(data=data, split="train"))
    assert [(task.id, task.stratum) for task in loaded.tasks] == [
        ("train:0000", "pick_and_place_simple"),
        ("train:0001", "look_at_obj_in_light"),
    ]
    assert loaded.tasks[1].input == "Your task is to: look at cd under the desklamp."
    assert loaded.notes == ("The released manifest of the split train has 2 tasks; the paper says 39.",)


def test_everything_is_named_by_its_folders(data):
    loaded = load(Source(data=data))
    assert [task.id for task in loaded.tasks] == [LOOK, PUT]
    assert [task.stratum for task in loaded.tasks] == ["look_at_obj_in_light", "pick_and_place_simple"]
    assert load(Source(data=data / "json_2.1.1")).tasks == loaded.tasks


def test_the_game_file_stands_in_the_target_and_nowhere_else(data):
    task = load(Source(data=data)).tasks[0]
    assert task.target.endswith("game.tw-pddl")
    assert task.files == {}
    assert "trial" not in task.input
    assert task.metadata == {}


def test_the_digest_is_of_the_games_bytes_wherever_they_lie(data, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write_game(elsewhere, PUT)
    write_game(elsewhere, LOOK, goal="look at cd under the desklamp.", walkthrough=("look",))
    here, there = (load(Source(data=folder)).tasks for folder in (data, elsewhere))
    assert here[1].digest == there[1].digest
    assert here[0].digest != there[0].digest


def test_games_that_upstream_leaves_out_are_left_out(data):
    write_game(data, "train/pick_and_place_with_movable_recep-Pen-Cup-Shelf-3/trial_1")
    write_game(data, "train/pick_and_place_simple-AppleSliced-None-Shelf-3/trial_1")
    write_game(data, "train/pick_and_place_simple-Mug-None-Shelf-3/trial_1", solvable=False)
    loaded = load(Source(data=data))
    assert len(loaded.tasks) == 2
    assert [each.id for each in loaded.rejected] == ["train/pick_and_place_simple-Mug-None-Shelf-3/trial_1"]


def test_missing_games_are_counted_and_the_first_are_named(data):
    items = [
        {"id": f"val:{n}", "gamefile": f"json_2.1.1/valid_seen/x/t{n}/game.tw-pddl", "task_type": "x"} for n in range(3)
    ]
    write_manifest(data, "val", items)
    with pytest.raises(TaskError, match=r"3 of the 3 games .* missing \(val:0, val:1 \.\.\.\).*alfworld-download"):
        load(Source(data=data, split="val"))


@pytest.mark.parametrize("place", ["../outside/game.tw-pddl", "/etc/hostname"])
def test_no_path_of_a_manifest_leaves_the_data_folder(data, place):
    write_manifest(data, "val", [{"id": "val:0", "gamefile": place, "task_type": "x"}])
    with pytest.raises(TaskError, match="outside the data folder"):
        load(Source(data=data, split="val"))


def test_a_link_out_of_the_data_folder_is_not_followed(data, tmp_path_factory):
    outside = write_game(tmp_path_factory.mktemp("outside"), "a/b/c")
    trial = data / "json_2.1.1/train/pick_and_place_simple-Fork-None-Shelf-3"
    trial.mkdir()
    (trial / "trial_1").symlink_to(outside.parent)
    assert len(load(Source(data=data)).tasks) == 2


@pytest.mark.parametrize("item", [{"id": "val:0"}, {"id": 3, "gamefile": "x", "task_type": "y"}])
def test_an_item_that_lacks_something_is_named(data, item):
    write_manifest(data, "val", [item])
    with pytest.raises(TaskError, match="lacks its id, gamefile or task_type"):
        load(Source(data=data, split="val"))


def test_a_missing_or_empty_folder_is_one_sentence(tmp_path):
    with pytest.raises(TaskError, match="no such folder"):
        load(Source(data=tmp_path / "nowhere"))
    with pytest.raises(TaskError, match="there are no games"):
        load(Source(data=tmp_path))


@pytest.mark.parametrize("text", ["{", "[]", '{"grammar": 3}', game_text()[:-5]])
def test_a_broken_game_file_is_named(data, text):
    (data / "json_2.1.1" / PUT / "game.tw-pddl").write_text(text)
    with pytest.raises(TaskError, match=r"game\.tw-pddl: this is not a game file"):
        load(Source(data=data))


def test_a_goal_that_is_not_found_is_said_to_stand_in_the_game(data):
    file = data / "json_2.1.1" / PUT / "game.tw-pddl"
    file.write_text(file.read_text().replace("Your task is", "Do"))
    assert "first observation" in load(Source(data=data)).tasks[1].input


def test_the_shared_games_are_those_of_the_released_manifests(shared):
    data = shared / "benchmarks" / "alfworld"
    assert len(load(Source(data=data)).tasks) == 57
    for split, count in (("train", 39), ("val", 18)):
        loaded = load(Source(data=data, split=split))
        assert len(loaded.tasks) == count
        assert not loaded.notes
        assert not loaded.rejected
        assert all(task.input.startswith("Your task is to: ") for task in loaded.tasks)
    with pytest.raises(TaskError, match="134 of the 134 games"):
        load(Source(data=data, split="test"))
