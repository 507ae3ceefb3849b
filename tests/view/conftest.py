"""Run folders, the server in a thread, and its page in a real browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import skillsv as sv

HOSTILE = "<img src=x onerror=alert('hostile')>"
HOSTILE_TASK = "<script>alert('task')</script>"

SKILL = """\
---
name: {name}
description: Knows colours.
---
# Colours

- red
- green
- a remark
"""


def colours(skill, task):
    """Answers by the skill, with markup around it."""
    known = skill and task.input in skill.text
    return f"{'yes' if known else 'no'} {HOSTILE} crimson-{task.id}"


def tasks_of(number: int = 12, *, hostile: bool = False) -> list[dict[str, object]]:
    words = ("red", "green", "blue")
    return [
        {
            "id": HOSTILE_TASK if hostile and not index else f"t{index:02d}",
            "input": words[index % 3],
            "target": "yes",
            "verifier": "contains",
        }
        for index in range(number)
    ]


def make_run(folder: Path, *, name: str = "colours", agent=colours, hostile: bool = False, text: str = SKILL):
    """Value a small skill in another thread: the browser's driver runs an event loop in this one."""
    skill = folder.parent.parent / "skills" / name / "SKILL.md"
    skill.parent.mkdir(parents=True, exist_ok=True)
    skill.write_text(text.format(name=json.dumps(name)), encoding="utf-8")

    def work():
        return sv.value(
            skill.parent, tasks=tasks_of(hostile=hostile), agent=agent, max_rollouts=150, panel_b=0, run_dir=folder
        )

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@dataclass
class Served:
    """A running server and its address."""

    address: str
    port: int
    token: str


@pytest.fixture
def serve() -> Iterator[Callable[[Path], Served]]:
    from skillsv.view.server import open_server

    running: list[tuple[object, threading.Thread]] = []

    def start(folder: Path) -> Served:
        server, ready = open_server(folder), threading.Event()
        kept: list[object] = []

        def started(one: object) -> None:
            kept.append(one)
            ready.set()

        thread = threading.Thread(target=server.serve, args=(started,), daemon=True)
        thread.start()
        assert ready.wait(10)
        running.append((kept[0], thread))
        return Served(address=server.address, port=server.port, token=server.token)

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)


@dataclass
class Opened:
    page: object
    origin: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_no_errors(self) -> None:
        assert [one for one in self.requests if not one.startswith((self.origin, "data:"))] == []
        assert self.errors == []
        assert self.page.evaluate("window.violations") == []
        assert self.page.evaluate("window.executed") == []


@pytest.fixture
def opened(browser, watch_script) -> Iterator[Callable[[Served], Opened]]:
    contexts = []

    def open_page(served: Served, **options) -> Opened:
        context = browser.new_context(viewport={"width": 1400, "height": 900}, **options)
        contexts.append(context)
        context.add_init_script(watch_script)
        result = Opened(page=context.new_page(), origin=f"http://127.0.0.1:{served.port}/{served.token}/")
        context.on("request", lambda request: result.requests.append(request.url))
        result.page.on("pageerror", lambda error: result.errors.append(str(error)))
        result.page.goto(served.address)
        return result

    yield open_page
    for context in contexts:
        context.close()
