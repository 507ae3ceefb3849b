"""Run folders made by version 0.1.0 before its modules were merged open, resume, and pay for nothing twice.

`before/` holds a skill, tasks, an agent and two unfinished runs of that version.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from skillsv.cli import run

BEFORE = Path(__file__).with_name("before")
RUNS = {
    "chain": ("--method", "chain", "-k", "4", "-b", "6", "-j", "1"),
    "auto": ("--method", "auto", "--operators", "delete", "--max-rollouts", "400"),
}


@pytest.fixture
def earlier(tmp_path, monkeypatch):
    """A copy of the earlier runs, with the working directory where they were started."""
    shutil.copytree(BEFORE, tmp_path / "before")
    monkeypatch.chdir(tmp_path / "before")
    return tmp_path / "before"


def keys_of(folder):
    """Keys and row ids of the stored rollouts."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    rows = connection.execute("select id, hex(key) from rollout order by id").fetchall()
    connection.close()
    return rows


def value(folder, flags):
    """The exit code of `value` on the earlier skill in that run folder."""
    return run(
        ["value", "skill", "--tasks", "tasks.jsonl", "--agent", "python:agent.py:answer", *flags, "--panel-b", "6",
         "--run-dir", str(folder), "--json", "--yes", "--quiet"]
    )  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_an_earlier_run_resumes_and_pays_for_nothing_twice(name, earlier, tmp_path, capsys):
    folder = earlier / "runs" / name
    paid = keys_of(folder)
    assert value(folder, RUNS[name]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert keys_of(folder)[: len(paid)] == paid, "stored rollouts are kept under their keys"
    assert not (folder / "earlier").exists(), "the run was recognised, not set aside"

    (tmp_path / "new").mkdir()  # with the panels of the earlier run: a new folder divides tasks by their strata
    shutil.copy(folder / "manifest.json", tmp_path / "new")
    assert value(tmp_path / "new", RUNS[name]) == 0
    new = json.loads(capsys.readouterr().out)
    assert {key for _, key in keys_of(folder)} >= {key for _, key in keys_of(tmp_path / "new")}
    assert resumed["units"] == new["units"]
    keys = [key for _, key in keys_of(folder)]
    needed = {key for _, key in paid} | {key for _, key in keys_of(tmp_path / "new")}
    assert sorted(keys) == sorted(needed), "no rollout was paid for a second time"


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("command", ["status", "estimate"])
def test_an_earlier_run_can_be_read(command, name, earlier, capsys):
    assert run([command, str(earlier / "runs" / name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_an_earlier_run_keeps_the_headings_that_it_was_cut_with(earlier, capsys):
    """A run of a version that read text above `---` as a heading is estimated with the units that it valued."""
    folder = earlier / "runs/chain"
    valued = [unit["id"] for unit in json.loads((folder / "valuation.json").read_text())["units"]]
    main = folder / "skill/SKILL.md"
    main.write_text(main.read_text() + "\nOne line\nand another.\n---\n")
    assert run(["estimate", str(folder), "--json"]) == 0
    assert [unit["id"] for unit in json.loads(capsys.readouterr().out)["units"]] == valued


@pytest.mark.heavy
def test_an_earlier_run_goes_on_with_its_units_where_references_are_cut_today(make_skill, capsys, tmp_path):
    """Today's default cuts a reference file that is larger than SKILL.md; a run that began before does not change."""
    skill, tasks, agent = make_skill("linked")
    rules = skill / "references/rules.md"
    rules.write_text(rules.read_text() + "".join(f"- Rule {n} about word {n} is long enough.\n" for n in range(60)))
    folder = tmp_path / "run"
    command = ["value", str(skill), "--tasks", str(tasks), "--agent", agent, "--operators", "delete", "--json", "--yes",
               "--run-dir", str(folder), "--quiet", "--keep-going", "-j", "1"]  # fmt: skip
    assert run([*command, "--inside", "main", "--rules-version", "1", "--max-rollouts", "60"]) in {0, 4}
    first = json.loads(capsys.readouterr().out)
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("inside", "rules_version"):
        del manifest["about"]["settings"][name]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    paid = keys_of(folder)

    assert run([*command, "--max-rollouts", "90"]) in {0, 4}
    resumed = json.loads(capsys.readouterr().out)
    assert [unit["id"] for unit in resumed["units"]] == [unit["id"] for unit in first["units"]]
    assert not (folder / "earlier").exists()
    assert keys_of(folder)[: len(paid)] == paid
    assert run(["estimate", str(folder), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["units"]) == len(first["units"])

    assert run([*command, "--fresh", "--max-rollouts", "60"]) in {0, 4}
    today = json.loads(capsys.readouterr().out)
    assert sum(unit["file"] == "references/rules.md" for unit in today["units"]) == 61
