"""The routes of the live page. Everything that reads files runs in a thread, so that events go on."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from skillsv.errors import SkillSVError
from skillsv.report.escape import escape_text
from skillsv.report.page_environment import asset, policy
from skillsv.rollout import RunFolder
from skillsv.view.comparison import compare_runs
from skillsv.view.found_runs import FoundRuns
from skillsv.view.run_pages import SANDBOX, refusal_policy, render_matrix, render_refusal, render_report
from skillsv.view.transcripts import PAGE_ROWS, RolloutFilter, list_rollouts, list_tasks, read_rollout

SECONDS_BETWEEN = 1.0
"""Seconds between two looks at the run folders."""

EXPECTED = (SkillSVError, OSError, sqlite3.Error, msgspec.MsgspecError)
"""Errors that a request may end with: a folder that is gone, a run without records, a damaged file."""


class ViewApp:
    """The server's state: the runs below one folder. All open pages share it."""

    def __init__(self, folder: Path, *, seconds_between: float = SECONDS_BETWEEN) -> None:
        self.runs = FoundRuns(folder)
        self._between = seconds_between
        self._lock = anyio.Lock()
        self._looked = -math.inf
        self._ended = anyio.Event()

    def end_streams(self) -> None:
        """End the events of all open pages. Call it in the event loop of the server."""
        self._ended.set()

    def routes(self) -> Starlette:
        """The application without its guard."""
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/events", self.events),
                Route("/run/{run}/report", self.report),
                Route("/run/{run}/matrix", self.matrix),
                Route("/run/{run}/tasks", self.tasks),
                Route("/run/{run}/rollouts", self.rollouts),
                Route("/run/{run}/rollouts/{number:int}", self.rollout),
                Route("/run/{run}/stop", self.stop, methods=["POST"]),
                Route("/compare/{first}/{second}", self.compare),
            ],
            exception_handlers=dict.fromkeys(EXPECTED, _explain),
        )

    async def update(self) -> None:
        """Read the run folders again. Pages that are open at the same time share one look."""
        async with self._lock:
            if anyio.current_time() - self._looked >= self._between / 2:
                await to_thread.run_sync(self.runs.update)
                self._looked = anyio.current_time()

    async def index(self, _: Request) -> Response:
        """The page."""
        text, rules = _page()
        return HTMLResponse(text, headers={"content-security-policy": rules})

    async def events(self, request: Request) -> Response:
        """All runs at once, then what changes, as server-sent events."""

        async def stream() -> AsyncIterator[str]:
            known: dict[str, Any] = {}
            while not self._ended.is_set() and not await request.is_disconnected():
                await self.update()
                now = {name: msgspec.to_builtins(summary) for name, summary in self.runs.runs.items()}
                changed = [summary for name, summary in now.items() if known.get(name) != summary]
                gone = [name for name in known if name not in now]
                if changed or gone or not known:
                    yield f"data: {json.dumps({'runs': changed, 'gone': gone})}\n\n"
                else:
                    yield ": nothing new\n\n"
                known = now
                with anyio.move_on_after(self._between):
                    await self._ended.wait()

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def report(self, request: Request) -> Response:
        """The report of a run, rendered anew: a file in a run folder is never served as it is."""
        return await self._page_of(request, render_report)

    async def matrix(self, request: Request) -> Response:
        """The page of the matrix that a run belongs to."""
        return await self._page_of(request, render_matrix)

    async def _page_of(self, request: Request, render: Callable[[Path], str]) -> Response:
        place: Path | None = None
        try:
            place = self._place(request)
            text = await to_thread.run_sync(render, place)
        except EXPECTED as error:
            text = await to_thread.run_sync(render_refusal, place, _sentence(error))
            return HTMLResponse(text, status_code=409, headers={"content-security-policy": refusal_policy()})
        return HTMLResponse(text, headers={"content-security-policy": SANDBOX})

    async def tasks(self, request: Request) -> Response:
        """The tasks of a run."""
        return JSONResponse(await to_thread.run_sync(list_tasks, self._place(request)))

    async def rollouts(self, request: Request) -> Response:
        """A page of rollouts."""
        query = request.query_params
        wanted = RolloutFilter(
            task=query.get("task", ""),
            tree=query.get("tree", ""),
            outcome=query.get("outcome", ""),
            words=query.get("q", "")[:200],
        )
        offset, limit = _number(query.get("offset"), 0), _number(query.get("limit"), PAGE_ROWS)
        place = self._place(request)
        return JSONResponse(await to_thread.run_sync(lambda: list_rollouts(place, wanted, offset=offset, limit=limit)))

    async def rollout(self, request: Request) -> Response:
        """One rollout in full."""
        found = await to_thread.run_sync(read_rollout, self._place(request), request.path_params["number"])
        return JSONResponse(found) if found is not None else _not_found()

    async def stop(self, request: Request) -> Response:
        """Ask a run to stop: the only thing that is ever written."""
        folder = RunFolder(self._place(request))
        await to_thread.run_sync(folder.request_stop)
        return JSONResponse({"stopping": True})

    async def compare(self, request: Request) -> Response:
        """Two runs side by side."""
        first, second = (self.runs.place(request.path_params[name]) for name in ("first", "second"))
        return JSONResponse(await to_thread.run_sync(compare_runs, first, second))

    def _place(self, request: Request) -> Path:
        return self.runs.place(request.path_params["run"])


async def _explain(_: Request, error: Exception) -> Response:
    """An error as one sentence."""
    return JSONResponse({"error": escape_text(_sentence(error))}, status_code=409)


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, SkillSVError) else f"{type(error).__name__}: {error}"


def _not_found() -> Response:
    return JSONResponse({"error": "There is no such rollout."}, status_code=404)


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdigit() and len(text) < 16 else default


@cache
def _page() -> tuple[str, str]:
    """The page and its policy: its own style and script by their hashes, and requests to this server."""
    files = resources.files("skillsv.view").joinpath("assets")
    text, style, script = (
        files.joinpath(name).read_text(encoding="utf-8") for name in ("view.html", "view.css", "view.js")
    )
    style = asset("colours.css") + style
    rules = f"{policy(style, script)}; connect-src 'self'; frame-ancestors 'none'"
    return text.replace("/*style*/", style).replace("/*script*/", script), rules
