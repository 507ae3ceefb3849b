"""An unfinished run is provisional in everything that is printed or written of it; a finished run nowhere."""

import json
import shutil
from pathlib import Path

import pytest

from skillsv.cli import run

FORMATS = {
    "page": lambda folder: ["report", folder, "-o", f"{folder}.html"],
    "markdown": lambda folder: ["report", folder, "--format", "md"],
    "json": lambda folder: ["report", folder, "--format", "json"],
    "junit": lambda folder: ["report", folder, "--format", "junit"],
    "estimate": lambda folder: ["estimate", folder],
    "estimate as json": lambda folder: ["estimate", folder, "--json"],
    "status": lambda folder: ["status", folder],
    "status as json": lambda folder: ["status", folder, "--json"],
    "compare": lambda folder: ["compare", folder, folder],
    "compare as json": lambda folder: ["compare", folder, folder, "--json"],
}


@pytest.fixture(params=["ended early", "killed", "chains missing"])
def unfinished(original, tmp_path, request):
    """A copy of a finished run as an early end, a kill or an older version leaves it."""
    folder = tmp_path / "run"
    shutil.copytree(original / "run", folder)
    if request.param == "chains missing":
        lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
        (folder / "records.crc32").unlink()
        chains = [line for line in lines if "skillsv.chain/1" in line]
        (folder / "records.jsonl").write_text("".join(line for line in lines if line != chains[-1]))
    else:
        notes = json.loads((folder / "notes.json").read_text())
        sentences = [*notes["notes"], "The budget is used up."] if request.param == "ended early" else []
        (folder / "notes.json").write_text(json.dumps({"notes": sentences, "provisional": True}))
    return folder


def output(command, capsys):
    capsys.readouterr()
    assert run(command) == 0
    if "-o" in command:
        with Path(command[-1]).open(encoding="utf-8") as page:
            return page.read().partition("<main")[2]
    return "".join(capsys.readouterr())


@pytest.mark.parametrize("command", FORMATS.values(), ids=FORMATS)
def test_an_unfinished_run_says_that_it_is_provisional(unfinished, command, capsys):
    printed = output(command(str(unfinished)), capsys).lower()
    assert "provisional" in printed
    assert '"provisional": false' not in printed


@pytest.mark.parametrize("command", FORMATS.values(), ids=FORMATS)
def test_a_finished_run_does_not(original, tmp_path, command, capsys):
    shutil.copytree(original / "run", tmp_path / "run")
    printed = output(command(str(tmp_path / "run")), capsys).lower()
    assert "provisional" not in printed.replace('"provisional": false', "")


def test_junit_carries_it_as_a_property(unfinished, capsys):
    assert '<property name="provisional" value="true" />' in output(FORMATS["junit"](str(unfinished)), capsys)


def test_an_unfinished_run_is_not_pruned(unfinished, tmp_path, capsys):
    assert run(["prune", str(unfinished), "-o", str(tmp_path / "short")]) == 2
    assert "provisional" in capsys.readouterr().err
    assert not (tmp_path / "short").exists()


def test_status_says_how_to_continue_a_stopped_run(unfinished, capsys):
    capsys.readouterr()
    assert run(["status", str(unfinished)]) == 0
    text = capsys.readouterr().out
    assert "stopped before its end" in text
    assert "  skillsv value " in text
    assert f"--run-dir {unfinished}" in text


def test_status_says_that_a_run_is_finished(original, capsys):
    capsys.readouterr()
    assert run(["status", str(original / "run")]) == 0
    text = capsys.readouterr().out
    assert ": finished" in text
    assert "skillsv value" not in text
