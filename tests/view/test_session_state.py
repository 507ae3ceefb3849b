"""Which of the runs that share a ledger is under way."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillsv.rollout import RunFolder
from skillsv.rollout.ledger_file import take_lock
from skillsv.view.found_runs import FoundRuns

from .conftest import make_run
from .test_ledger_totals import add_rollouts

START = 1_800_000_000
"""A time in seconds since 1970."""


def set_time(path: Path, seconds: float) -> None:
    os.utime(path, (START + seconds, START + seconds))


@dataclass
class AgentFolders:
    """The run folders of a matrix, whose files get the times that a test gives."""

    top: Path
    runs: FoundRuns

    def folder(self, name: str) -> RunFolder:
        return RunFolder(self.top / "matrix-runs" / name)

    def begin(self, name: str, seconds: float) -> None:
        """What the session of an agent writes first."""
        folder = self.folder(name)
        folder.keep_notes(folder.notes(), provisional=True)
        for file in ("manifest.json", "notes.json"):
            set_time(folder.path / file, seconds)

    def end_early(self, name: str, seconds: float, *, values: bool = False) -> None:
        """What the session of an agent writes when a limit or a failure ends it."""
        folder = self.folder(name)
        folder.keep_notes(("This is a partial result.",), provisional=True)
        set_time(folder.path / "notes.json", seconds)
        if values:
            folder.write("valuation.json", b"{}")
            set_time(folder.valuation, seconds)

    def save(self, name: str, seconds: int, *, first: int, command: str = "") -> None:
        """Save a rollout at this time."""
        import sqlite3

        add_rollouts(self.folder(name), 1, first=first, command=command)
        with sqlite3.connect(self.folder(name).ledger) as connection:
            connection.execute("UPDATE rollout SET saved = ? WHERE id = ?", (START + seconds, first))
        connection.close()

    @contextmanager
    def locked(self, seconds: float):
        """Hold the lock of the ledger since this time."""
        ledger = self.top / "ledger.sqlite"
        lock = take_lock(ledger)
        set_time(ledger.with_name("ledger.sqlite.lock"), seconds)
        try:
            yield
        finally:
            os.close(lock)

    def states(self) -> dict[str, str]:
        self.runs.update()
        return {run.path.rpartition("/")[2]: run.state for run in self.runs.runs.values()}

    def stops_matrix(self) -> set[str]:
        return {run.path.rpartition("/")[2] for run in self.runs.runs.values() if run.stops_matrix}


@pytest.fixture(scope="module")
def ledger_and_manifest(tmp_path_factory):
    place = tmp_path_factory.mktemp("one") / "runs" / "one"
    make_run(place)
    return place / "ledger.sqlite", json.loads((place / "manifest.json").read_bytes())


@pytest.fixture
def agents(tmp_path, ledger_and_manifest):
    """Two agents that have finished."""
    ledger, manifest = ledger_and_manifest
    top = tmp_path / "runs" / "several"
    top.mkdir(parents=True)
    (top / "ledger.sqlite").write_bytes(ledger.read_bytes())
    found = AgentFolders(top, FoundRuns(tmp_path / "runs", clock=lambda: 0.0))
    for seed, name in enumerate(("first", "second")):
        settings = {**manifest["settings"], "seed": seed}
        found.folder(name).path.mkdir(parents=True)
        found.folder(name).write("manifest.json", json.dumps({**manifest, "settings": settings}).encode())
        set_time(found.folder(name).path / "manifest.json", -100)
    return found


def test_an_agent_that_ended_early_is_stopped_while_the_next_one_runs(agents):
    with agents.locked(0):
        agents.begin("first", 1)
        assert agents.states() == {"first": "running", "second": "finished"}
    agents.end_early("first", 10)
    agents.save("first", 9, first=5_000)
    assert agents.states()["first"] == "stopped"
    with agents.locked(20):
        agents.begin("second", 21)
        assert agents.states() == {"first": "stopped", "second": "running"}
        assert agents.stops_matrix() == {"second"}


def test_an_agent_that_finished_is_finished_before_the_next_one_saves_a_rollout(agents):
    agents.save("first", 9, first=5_000)
    with agents.locked(20):
        agents.begin("second", 21)
        assert agents.states() == {"first": "finished", "second": "running"}


def test_an_agent_that_goes_on_after_an_early_end_is_running(agents):
    agents.end_early("first", 10)
    agents.end_early("second", 10)
    with agents.locked(20):
        agents.begin("first", 21)
        assert agents.states() == {"first": "running", "second": "stopped"}


def test_agents_that_run_at_the_same_time_are_running_until_each_ends(agents):
    with agents.locked(0):
        agents.begin("first", 1)
        agents.begin("second", 2)
        assert agents.states() == {"first": "running", "second": "running"}
        agents.end_early("first", 10)
        assert agents.states() == {"first": "stopped", "second": "running"}
        agents.end_early("second", 11, values=True)
        assert agents.states() == {"first": "stopped", "second": "stopped"}


def test_agents_that_go_on_at_the_same_time_are_running_once_they_save_rollouts(agents):
    agents.end_early("first", -10)
    agents.end_early("second", -10, values=True)
    with agents.locked(0):
        agents.begin("first", 1)
        agents.begin("second", 2)
        assert agents.states()["second"] == "running", "its values are those of the earlier session"
        agents.save("first", 3, first=5_000)
        assert agents.states()["first"] == "running"


def test_a_later_command_of_one_agent_leaves_the_others_alone(agents):
    agents.end_early("second", 10)
    with agents.locked(20):
        assert agents.states() == {"first": "finished", "second": "stopped"}
        agents.save("first", 21, first=5_000, command="-shrink")
        assert agents.states() == {"first": "running", "second": "stopped"}
        assert agents.stops_matrix() == set(), "a request to stop ends the shrink"
