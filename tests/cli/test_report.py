"""`skillsv report` on a small run of the example, finished and unfinished."""

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from skillsv.cli import run


def small_run(place, method):
    command = [sys.executable, "-m", "skillsv", "demo", "--quiet", "--yes", "--run-dir", str(place / "run")]
    size = {"chain": ["-k", "2", "-b", "4"], "auto": ["--max-rollouts", "600"]}
    options = [*size[method], "--operators", "delete", "--method", method]
    done = subprocess.run([*command, *options], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return place / "run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("run"), "chain")


@pytest.mark.heavy
def test_an_adaptive_run_has_a_page(tmp_path, capsys):
    adaptive = small_run(tmp_path, "auto")
    assert run(["report", str(adaptive)]) == 0
    text = (adaptive / "report.html").read_text(encoding="utf-8")
    assert 'data-name="coalitions"' in text
    assert "answer without it" in text


def test_the_page_is_in_the_run_folder_and_has_answers(folder, capsys):
    (folder / "report.html").unlink()
    assert run(["report", str(folder)]) == 0
    assert str(folder / "report.html") in capsys.readouterr().out
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "support-desk" in text
    assert 'data-name="pruning-path"' in text
    assert "answer without it" in text


def test_transcripts_can_be_left_out(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["report", str(folder), "-o", str(page), "--transcripts", "0"]) == 0
    assert "answer without it" not in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"Report: {page}\n"


def test_json_is_the_valuation(folder, capsys):
    assert run(["report", str(folder), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "skillsv.valuation/1"
    assert answer["provisional"] is False


def test_markdown_and_junit_go_to_stdout(folder, capsys):
    assert run(["report", str(folder), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("### What each part of `support-desk` is worth")
    assert run(["report", str(folder), "--format", "junit"]) == 0
    assert ET.fromstring(capsys.readouterr().out).tag == "testsuites"


def test_open_starts_the_browser_with_the_page(folder, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr("webbrowser.open", lambda address: asked.append(address) or True)
    assert run(["report", str(folder), "--open"]) == 0
    assert asked == [(folder / "report.html").resolve().as_uri()]


def test_an_unfinished_run_gives_provisional_values(folder, tmp_path, capsys):
    half = tmp_path / "half"
    half.mkdir()
    for name in ("manifest.json", "ledger.sqlite"):
        (half / name).write_bytes((folder / name).read_bytes())
    subprocess.run(["cp", "-r", str(folder / "skill"), str(half / "skill")], check=True)
    first = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (half / "records.jsonl").write_text(first + "\n", encoding="utf-8")
    assert run(["report", str(half)]) == 0
    assert "provisional: the run is not finished" in (half / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nowhere"],
        ["FOLDER", "--open", "--format", "md"],
        ["FOLDER", "--transcripts", "-1"],
        ["FOLDER", "--format", "pdf"],
        ["FOLDER", "-o", "no/such/folder/page.html"],
    ],
)
def test_invalid_flags_give_one_sentence(folder, arguments, capsys):
    words = [str(folder) if word == "FOLDER" else word for word in arguments]
    assert run(["report", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("skillsv: ")


@pytest.mark.heavy
def test_a_run_with_a_small_budget_stays_provisional_and_names_the_next_one(tmp_path, capsys):
    folder = tmp_path / "early"
    flags = ["--method", "auto", "--operators", "delete", "--quiet", "--yes"]
    assert run(["demo", *flags, "--max-rollouts", "130", "--run-dir", str(folder)]) == 4
    assert "Too early: the values explain 0 of 80 points" in capsys.readouterr().out
    for command in (["report", "--format", "json"], ["estimate", "--json"]):
        assert run([command[0], str(folder), *command[1:]]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["provisional"] is True
        assert {unit["net"]["value"] for unit in answer["units"]} == {None}
        assert {unit["verdict"] for unit in answer["units"]} == {"unresolved"}
        assert "--max-rollouts 582" in answer["notes"][0]
        assert any("partial result" in note for note in answer["notes"])
    assert run(["demo", *flags, "--max-rollouts", "600", "--run-dir", str(folder)]) == 0
    capsys.readouterr()
    assert run(["report", str(folder), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["provisional"] is False
    assert all(unit["net"]["value"] is not None for unit in answer["units"])
