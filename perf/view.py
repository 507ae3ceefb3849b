"""The live page over ten runs, one of them with 100,000 rollouts: the CPU of each look, and when the page is painted.

Limits: an update takes at most 50 ms of CPU, and the page is painted within 1 s.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import skillsv as sv
from perf.report import ARGUMENTS
from skillsv.rollout import RunFolder
from skillsv.view.found_runs import FoundRuns
from skillsv.view.server import open_server
from skillsv.view.transcripts import RolloutFilter, list_rollouts

RUNS = 10
"""Runs below the folder."""

ROLLOUTS = 100_000
"""Rollouts of the first run."""

LOOKS = 20
"""Looks at the run folders after the first one."""

SKILL = "---\nname: colours\ndescription: Knows colours.\n---\n# Colours\n\n- red\n- green\n"


def figures() -> list[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        make_runs(folder)
        runs = FoundRuns(folder)
        rows = [(f"first look at {RUNS} runs with {ROLLOUTS:,} rollouts", cpu(runs.update), "ms CPU")]
        rows.append(("a later look, the slowest", max(cpu(runs.update) for _ in range(LOOKS)), "ms CPU"))
        first = folder / "run-0"
        for offset in (0, ROLLOUTS // 2):
            used = cpu(lambda offset=offset: list_rollouts(first, RolloutFilter(), offset=offset, limit=100))
            rows.append((f"a page of the list, from row {offset:,}", used, "ms CPU"))
        wanted = RolloutFilter(words="no such words")
        rows.append(
            (
                "a search through 20,000 answers",
                cpu(lambda: list_rollouts(first, wanted, offset=0, limit=100)),
                "ms CPU",
            )
        )
        painted = first_paint(folder)
        return rows if painted is None else [*rows, ("the page is painted after", painted, "ms")]


def make_runs(folder: Path) -> None:
    """Run folders of a small skill; the first ledger gets its many rollouts by SQL."""

    def answer(skill, task):
        return "yes" if skill and task.input in skill.text else "no"

    tasks = [
        {"id": f"t{place:02d}", "input": ("red", "green", "blue")[place % 3], "target": "yes"} for place in range(12)
    ]
    for number in range(RUNS):
        sv.value(SKILL, tasks=tasks, agent=answer, max_rollouts=100, panel_b=0, run_dir=folder / f"run-{number}")
    first = RunFolder(folder / "run-0")
    text, run = zlib.compress(b"the text of an answer " * 20), first.run_id
    rows = [
        (place, str(place).encode(), f"tree-{place % 50}", f"t{place % 12:02d}", float(place % 2), run)
        for place in range(10_000, 10_000 + ROLLOUTS)
    ]
    connection = sqlite3.connect(first.ledger)
    connection.executemany(
        "INSERT INTO rollout (id, key, tree, task, agent, replicate, task_id, score, duration, attempts, run) "
        "VALUES (?, ?, ?, 'd', 'a', 0, ?, ?, 0.5, 1, ?)",
        rows,
    )
    connection.executemany("INSERT INTO detail (id, answer) VALUES (?, ?)", [(row[0], text) for row in rows])
    connection.commit()
    connection.close()


def cpu(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


def first_paint(folder: Path) -> float | None:
    """Milliseconds until the browser has painted the page; None without a browser."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    served, ready, kept = open_server(folder), threading.Event(), []

    def started(server: object) -> None:
        kept.append(server)
        ready.set()

    thread = threading.Thread(target=served.serve, args=(started,), daemon=True)
    thread.start()
    ready.wait()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(served.address)
        page.wait_for_selector("#runs tbody tr")
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        browser.close()
    kept[0].should_exit = True
    thread.join()
    return float(painted)
