"""The rollouts of a run, a page at a time: by task, by score, by words in the answer; and one rollout in full."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillsv.errors import SkillSVError
from skillsv.pipeline.run import load_run
from skillsv.report.escape import clip, escape_line, escape_text
from skillsv.report.line_names import LineNames
from skillsv.rollout import RunFolder
from skillsv.view.ledger_totals import open_ledger

PAGE_ROWS = 200
"""Rollouts that one request returns at most."""

SCANNED_ROWS = 20_000
"""Rollouts whose texts one search request reads at most; the next request goes on from there."""

MOST_RENDERED = 600
"""Partial skills that are rendered to find the one that a rollout received."""

TEXT_LIMIT = 400_000
"""Characters of a transcript that are sent to the page."""

_COLUMNS = "rollout.id, task_id, tree, replicate, score, failure, duration, rollout.run"


_OUTCOMES = {
    "right": "score >= 1",
    "wrong": "score <= 0",
    "partly": "score > 0 AND score < 1",
    "failed": "score IS NULL",
}
"""Conditions in SQL by the outcome that the page names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """Which rollouts of a run are wanted. Empty texts and None mean all."""

    task: str = ""
    tree: str = ""
    outcome: str = ""
    words: str = ""

    def where(self, run: str) -> tuple[str, list[object]]:
        """The condition in SQL and its values. Rollouts of later commands of the run belong to it."""
        parts, values = ["(run = ? OR run LIKE ? ESCAPE '\\')"], [run, f"{run}-%"]
        if self.task:
            parts.append("task_id = ?")
            values.append(self.task)
        if self.tree:
            parts.append("tree = ?")
            values.append(self.tree)
        if self.outcome in _OUTCOMES:
            parts.append(f"({_OUTCOMES[self.outcome]})")
        return " AND ".join(parts), list(values)


def list_rollouts(place: Path, wanted: RolloutFilter, *, offset: int, limit: int) -> dict[str, Any]:
    """A page of rollouts, the newest first, and how many there are in all."""
    run, ledger = RunFolder(place).run_id, RunFolder(place).ledger
    condition, values = wanted.where(run)
    with open_ledger(ledger) as connection:
        if wanted.words:
            return _search(connection, condition, values, wanted.words, offset)
        total = connection.execute(f"SELECT count(*) FROM rollout WHERE {condition}", values).fetchone()[0]  # noqa: S608
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM rollout WHERE {condition} ORDER BY id DESC LIMIT ? OFFSET ?",  # noqa: S608
            [*values, min(max(limit, 0), PAGE_ROWS), max(offset, 0)],
        ).fetchall()
    return {"total": total, "offset": offset, "rows": [_row(row) for row in rows], "next": None}


def _search(
    connection: sqlite3.Connection, condition: str, values: list[object], words: str, before: int
) -> dict[str, Any]:
    """Rollouts whose answer or transcript contains the words. `before` is the id to go on from; 0: the newest."""
    connection.create_function("unpacked", 1, _unpack, deterministic=True)
    newest = before or connection.execute("SELECT coalesce(max(id), 0) + 1 FROM rollout").fetchone()[0]
    oldest = max(newest - SCANNED_ROWS, 0)
    query = (
        f"SELECT {_COLUMNS} FROM rollout JOIN detail USING (id) WHERE {condition} "  # noqa: S608
        "AND rollout.id < ? AND rollout.id >= ? AND (instr(unpacked(answer), ?) OR instr(unpacked(transcript), ?)) "
        "ORDER BY rollout.id DESC LIMIT ?"
    )
    rows = connection.execute(query, [*values, newest, oldest, words.lower(), words.lower(), PAGE_ROWS]).fetchall()
    last = int(rows[-1][0]) if len(rows) == PAGE_ROWS else oldest
    return {"total": len(rows), "offset": 0, "rows": [_row(row) for row in rows], "next": last or None}


def _unpack(data: bytes | None) -> str:
    """The text of a compressed column in lower case; empty where it cannot be read."""
    try:
        return "" if data is None else zlib.decompress(data).decode("utf-8", errors="replace").lower()
    except zlib.error:
        return ""


def _row(row: tuple[Any, ...]) -> dict[str, Any]:
    number, task, tree, replicate, score, failure, duration, run = row
    command = str(run).partition("-")[2]
    return {
        "id": number, "task": escape_line(task), "tree": tree, "replicate": replicate, "score": score,
        "failure": None if failure is None else escape_line(failure), "seconds": duration,
        "command": escape_line(command) or "value",
    }  # fmt: skip


def list_tasks(place: Path) -> list[dict[str, Any]]:
    """The tasks of a run with their mean score and number of rollouts, by SQL."""
    folder = RunFolder(place)
    condition, values = RolloutFilter().where(folder.run_id)
    with open_ledger(folder.ledger) as connection:
        rows = connection.execute(
            f"SELECT task_id, count(*), avg(score) FROM rollout WHERE {condition} GROUP BY task_id ORDER BY task_id",  # noqa: S608
            values,
        ).fetchall()
    return [{"task": escape_line(task), "rollouts": number, "score": score} for task, number, score in rows]


def read_rollout(place: Path, number: int) -> dict[str, Any] | None:
    """One rollout in full: answer, transcript, and the lines of the skill that the agent did not receive."""
    with open_ledger(RunFolder(place).ledger) as connection:
        row = connection.execute(
            f"SELECT {_COLUMNS}, message, answer, transcript FROM rollout LEFT JOIN detail USING (id) WHERE id = ?",  # noqa: S608
            (number,),
        ).fetchone()
    if row is None:
        return None
    *head, message, answer, transcript = row
    found = _row(tuple(head))
    return {
        **found,
        "message": None if message is None else escape_text(message),
        "answer": _text(answer),
        "transcript": _text(transcript),
        "coalition": coalition_of(place, str(found["tree"]), str(row[1])),
    }


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else clip(escape_text(zlib.decompress(data).decode("utf-8", "replace")), TEXT_LIMIT)
    except zlib.error:
        return None


def coalition_of(place: Path, tree: str, task: str) -> Mapping[str, Any] | None:
    """Which units the agent received, by rendering the partial skills of this task; None where none fits."""
    try:
        run = load_run(place)
    except (OSError, SkillSVError):
        return None
    everything = run.compiled.everything
    tried: set[tuple[frozenset[str], str]] = set()
    for item in run.observations:
        key = (item.coalition, str(item.operator))
        if item.task != task or key in tried or len(tried) >= MOST_RENDERED:
            continue
        tried.add(key)
        if run.renderer.render(item.coalition, item.operator, item.null_change).digest == tree:
            missing = [unit for unit in run.compiled.execution if unit not in item.coalition]
            names = LineNames(run.valuation.units, run.compiled.skill.main)
            return {
                "units": len(item.coalition & everything) - (run.compiled.trigger in item.coalition),
                "of": len(run.compiled.execution),
                "without": names.lines(missing),
                "bare": not item.coalition,
                "operator": str(item.operator),
            }
    return None
