"""Twenty more attempts to make a command write over files of the user, by -o and by --run-dir."""

import json
import shutil

import pytest

from skillsv.cli import run

SKILL = "# Words\n\n- Say `alpha` whenever anybody asks.\n- Mumble while you are at it.\n"


def snapshot(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        found[str(path)] = path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
    return found


@pytest.fixture(scope="module")
def valued(tmp_path_factory):
    place = tmp_path_factory.mktemp("valued")
    (place / "tiny").mkdir()
    (place / "tiny/SKILL.md").write_text(SKILL)
    (place / "agent.py").write_text(
        "def answer(skill, task, replicate):\n    return 'alpha' if skill and 'alpha' in skill.text else ''\n"
    )
    task = {"input": "?", "target": "alpha", "verifier": "contains"}
    (place / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(4)))
    assert run(command(place, str(place / "run"))) == 0
    return place


def command(place, run_dir):
    words = ["--tasks", f"{place}/tasks.jsonl", "--agent", f"python:{place}/agent.py:answer", "-k", "2", "-b", "2"]
    return ["value", f"{place}/tiny", *words, "--panel-b", "0", "--yes", "--quiet", "--run-dir", run_dir]


@pytest.fixture
def place(valued, tmp_path, monkeypatch):
    place = tmp_path / "p"
    shutil.copytree(valued, place)
    manifest = place / "run/manifest.json"
    manifest.write_text(manifest.read_text().replace(str(valued), str(place)))
    for name in ("mine", "home", "current", "repo/.git"):
        (place / name).mkdir(parents=True)
        (place / name / "diary.txt").write_text("dear diary")
    (place / "hidden").mkdir()
    (place / "hidden/.keep").write_text("")
    (place / "to-mine").symlink_to(place / "mine")
    (place / "to-skill").symlink_to(place / "tiny")
    (place / "to-nothing").symlink_to(place / "nothing")
    (place / "odd/ledger.sqlite").mkdir(parents=True)
    (place / "fake").mkdir()
    (place / "fake/manifest.json").write_text('{"schema": "other/1"}')
    (place / "file").write_text("a file")
    (place / "x.patch").write_text("a patch of the user")
    monkeypatch.chdir(place / "current")
    monkeypatch.setenv("HOME", str(place / "home"))
    return place


OUTPUTS = [
    "mine",
    "to-mine",
    "to-skill",
    "to-nothing",
    "file",
    "file/below",
    "hidden",
    "odd",
    "repo",
    "tiny/inside",
    "x",
]
RUN_DIRS = ["mine", "to-mine", "to-skill", "file", "hidden", "repo", "fake", "tiny/run", "to-skill/run"]


@pytest.mark.parametrize("target", OUTPUTS)
def test_output_over_files_of_the_user_is_refused(place, capsys, target):
    before = snapshot(place)
    assert run(["prune", str(place / "run"), "-o", str(place / target), "--force"]) == 2
    assert snapshot(place) == before
    assert capsys.readouterr().err.splitlines()[-1].startswith("skillsv: ")


@pytest.mark.parametrize("target", RUN_DIRS)
def test_run_folder_over_files_of_the_user_is_refused(place, capsys, target):
    before = snapshot(place)
    assert run([*command(place, str(place / target)), "--fresh"]) == 2
    assert snapshot(place) == before
    assert capsys.readouterr().err.splitlines()[-1].startswith("skillsv: ")
