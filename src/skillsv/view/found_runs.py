"""The runs below a folder, and how far each of them is. It reads run folders and never writes them."""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillsv.errors import RecordsError, SkillSVError
from skillsv.report.escape import escape_line
from skillsv.rollout import RunFolder
from skillsv.rollout.run_folder import AGENTS, run_id
from skillsv.sandbox.run_files import MANIFEST
from skillsv.view.ledger_totals import LedgerTotals
from skillsv.view.session_state import LedgerSession, RunActivity, is_running, read_session

DEPTH = 7
"""Folders below the given one in which runs are looked for."""

MOST_RUNS = 500
"""Runs that the page lists; the newest ones."""

SKIPPED = frozenset({".git", ".venv", "node_modules", "skill", "__pycache__"})
"""Folders in which no run is looked for. `skill` is the copy of the valued skill in a run folder."""

RATE_SECONDS = 30.0
"""Seconds over which the rate of rollouts is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run as the page lists it. `rate` is in rollouts a minute, `left` the seconds that are expected to be left.

    `matrix`: there is a page of the matrix that it belongs to. `stops_matrix`: a request to stop ends that matrix.
    """

    id: str
    path: str
    skill: str
    agent: str
    tasks: int
    state: str
    scored: int
    missing: int
    forecast: int
    tokens: int
    usd: float | None
    saved: int | None
    rate: float | None = None
    left: float | None = None
    failures: dict[str, int] = field(default_factory=dict)
    matrix: bool = False
    stops_matrix: bool = False


@dataclass(slots=True)
class _Rate:
    """The number of rollouts at two times, from which the rate follows."""

    since: float
    scored: int
    per_minute: float | None = None


class FoundRuns:
    """All runs below one folder. `update` reads what has changed; a folder that is gone is left out."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.runs: dict[str, RunSummary] = {}
        self._places: dict[str, Path] = {}
        self._manifests: dict[Path, tuple[tuple[int, int], dict[str, Any], str]] = {}
        self._totals: dict[Path, LedgerTotals] = {}
        self._sessions: dict[Path, LedgerSession] = {}
        self._rates: dict[str, _Rate] = {}
        self._clock = clock

    def update(self) -> None:
        """Read all run folders again, as far as they have changed."""
        places = {run_name(place, self.folder): place for place in self._find()}
        ledgers: dict[Path, list[Path]] = defaultdict(list)
        for place in places.values():
            ledgers[RunFolder(place).ledger].append(place)
        self._totals = {path: self._totals.get(path) or LedgerTotals(path) for path in ledgers}
        for totals in self._totals.values():
            totals.update()
        self._sessions = {path: read_session(path, sharing) for path, sharing in ledgers.items()}
        found: dict[str, RunSummary] = {}
        for name, place in places.items():
            summary = self._summary(name, place)
            if summary is not None:
                found[name] = summary
        self.runs, self._places = found, places

    def place(self, name: str) -> Path:
        """The folder of a run. Raises RecordsError where there is none, or where it is gone."""
        place = self._places.get(name)
        if place is None or not (place / MANIFEST).is_file():
            raise RecordsError("this run is not here any more.", hint="Choose another run.")
        return place

    def _find(self) -> list[Path]:
        found: list[tuple[float, Path]] = []
        for place in _walk(self.folder, DEPTH):
            try:
                found.append(((place / MANIFEST).stat().st_mtime, place))
            except OSError:  # no run, or it is being moved
                continue
        return [place for _, place in sorted(found, reverse=True)[:MOST_RUNS]]

    def _summary(self, name: str, place: Path) -> RunSummary | None:
        try:
            manifest, run = self._manifest(place)
            folder = RunFolder(place)
            provisional = folder.provisional
        except (OSError, SkillSVError):
            return None
        ledger = self._totals[folder.ledger]
        totals = ledger.of_run(run)  # with trials, proofs and confirmations
        activity = RunActivity(place=place, run=run, provisional=provisional, latest=ledger.latest, saved=totals.saved)
        running = is_running(activity, self._sessions[folder.ledger])
        state = "running" if running else "stopped" if provisional else "finished"
        about, skill, agent = (manifest.get(part) or {} for part in ("about", "skill", "agent"))
        forecast = int(about.get("forecast") or 0) if provisional or not running else 0  # it is that of the values
        rate = self._rate(name, totals.scored) if running else None
        left = max(forecast - totals.scored, 0) / rate * 60 if rate and forecast else None
        return RunSummary(
            id=name,
            path=escape_line(os.path.relpath(place, self.folder)),
            skill=escape_line(str(skill.get("name", ""))),
            agent=escape_line(str(agent.get("spec", ""))),
            tasks=len(manifest.get("panel_a") or {}),
            state=state,
            scored=totals.scored,
            missing=totals.missing,
            forecast=forecast,
            tokens=totals.tokens,
            usd=totals.usd,
            saved=totals.saved,
            rate=rate,
            left=left,
            failures=dict(totals.failures),
            matrix=place.parent.name == AGENTS and (place.parent.parent / "matrix.json").is_file(),
            stops_matrix=running and provisional and place.parent.name == AGENTS,
        )

    def _manifest(self, place: Path) -> tuple[dict[str, Any], str]:
        """The manifest and the id of the run, read again only where the file has changed."""
        stat = (place / MANIFEST).stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._manifests.get(place)
        if known is None or known[0] != stamp:
            manifest = dict(RunFolder(place).manifest() or {})
            known = self._manifests[place] = (stamp, manifest, run_id(manifest))
        return known[1], known[2]

    def _rate(self, name: str, scored: int) -> float | None:
        """Rollouts a minute since the last measurement, which is renewed from time to time."""
        now, known = self._clock(), self._rates.get(name)
        if known is None or scored < known.scored:
            self._rates[name] = _Rate(since=now, scored=scored)
            return None
        passed = now - known.since
        if passed >= RATE_SECONDS or known.per_minute is None:
            rate = round(60 * (scored - known.scored) / passed, 1) if passed > 0 else None
            if passed >= RATE_SECONDS:
                self._rates[name] = _Rate(since=now, scored=scored, per_minute=rate)
            return rate
        return known.per_minute


def run_name(place: Path, folder: Path) -> str:
    """The name of a run in addresses: it does not show the path."""
    return hashlib.sha256(os.path.relpath(place, folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """The folder and those below it, without links."""
    yield folder
    if not depth:
        return
    try:
        below = [entry for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in below:
        if entry.name not in SKIPPED:
            yield from _walk(Path(entry.path), depth - 1)
