"""Totals of a ledger with many rollouts, and the virtual list over them."""

from __future__ import annotations

import shutil
import sqlite3
import zlib

import pytest
from playwright.sync_api import expect

from skillsv.rollout import RunFolder
from skillsv.view.found_runs import FoundRuns
from skillsv.view.ledger_totals import LedgerTotals
from skillsv.view.transcripts import SCANNED_ROWS, RolloutFilter, list_rollouts

from .conftest import make_run

MANY = 30_000


def add_rollouts(folder, number, *, first, words="plain", command=""):
    """Add rollouts to the ledger, as a run does."""
    run = folder.run_id + command
    with sqlite3.connect(folder.ledger) as connection:
        rows = [
            (
                place,
                str(place).encode(),
                f"tree-{place % 50}",
                "d",
                "a",
                0,
                f"t{place % 12:02d}",
                float(place % 2),
                0.5,
                1,
                run,
            )
            for place in range(first, first + number)
        ]
        connection.executemany(
            "INSERT INTO rollout (id, key, tree, task, agent, replicate, task_id, score, duration, attempts, run) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        data = zlib.compress(words.encode())
        connection.executemany("INSERT INTO detail (id, answer) VALUES (?, ?)", [(row[0], data) for row in rows])
    connection.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("many") / "runs"
    make_run(place / "one", name="many")
    add_rollouts(RunFolder(place / "one"), 10, first=1_000, words="the needle")
    add_rollouts(RunFolder(place / "one"), MANY, first=10_000)
    return place


def test_an_update_reads_only_new_rows(folder):
    run = RunFolder(folder / "one")
    totals = LedgerTotals(run.ledger)
    totals.update()
    before = totals.runs[run.run_id].scored
    assert before > MANY
    statements = []
    original = sqlite3.connect

    def traced(*words, **more):
        connection = original(*words, **more)
        connection.set_trace_callback(statements.append)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skillsv.view.ledger_totals.sqlite3.connect", traced)
        totals.update()
    assert totals.runs[run.run_id].scored == before
    assert any(f"id > {10_000 + MANY - 1}" in statement for statement in statements)


def test_a_ledger_that_was_replaced_is_counted_anew(tmp_path, folder):
    place = tmp_path / "ledger.sqlite"
    shutil.copy(RunFolder(folder / "one").ledger, place)
    totals = LedgerTotals(place)
    totals.update()
    assert totals.runs
    place.rename(tmp_path / "old")
    totals.update()
    assert not totals.runs


def test_pages_and_search_are_bounded(folder):
    place = folder / "one"
    page = list_rollouts(place, RolloutFilter(), offset=0, limit=10_000)
    assert len(page["rows"]) == 200
    assert page["total"] > MANY
    found = list_rollouts(place, RolloutFilter(words="NEEDLE"), offset=0, limit=200)
    assert found["rows"] == []
    assert found["next"] == 10_000 + MANY - SCANNED_ROWS
    later = list_rollouts(place, RolloutFilter(words="needle"), offset=found["next"], limit=200)
    while not later["rows"] and later["next"]:
        later = list_rollouts(place, RolloutFilter(words="needle"), offset=later["next"], limit=200)
    assert len(later["rows"]) == 10


def test_filters_are_values_and_never_sql(folder):
    for wanted in (RolloutFilter(task="' OR 1=1 --"), RolloutFilter(tree="x') OR ('1'='1"), RolloutFilter(task="t%")):
        assert list_rollouts(folder / "one", wanted, offset=0, limit=10)["total"] == 0


@pytest.mark.heavy
def test_the_list_of_many_rollouts_shows_only_those_in_sight(folder, serve, opened):
    page = opened(serve(folder)).page
    page.locator("#runs tbody tr", has_text="many").get_by_role("button", name="Transcripts").click(timeout=20_000)
    expect(page.locator("#found")).to_contain_text("30,", timeout=20_000)
    assert page.locator("#window button").count() <= 40
    page.locator("#list").evaluate("list => { list.scrollTop = list.scrollHeight / 2; }")
    expect(page.locator("#window button").nth(10)).to_contain_text("#2", timeout=20_000)
    assert page.locator("#window button").count() <= 40


def test_a_folder_without_a_readable_run_is_left_out(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{not json")
    runs = FoundRuns(tmp_path)
    runs.update()
    assert runs.runs == {}
