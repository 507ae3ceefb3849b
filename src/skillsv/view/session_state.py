"""Whether a run is under way. Several runs may share a ledger, and so its lock: the agents of a matrix do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.errors import SkillSVError
from skillsv.rollout import RunFolder
from skillsv.rollout.ledger_file import is_locked
from skillsv.rollout.run_folder import EARLIER, NOTES, VALUATION
from skillsv.sandbox.run_files import MANIFEST
from skillsv.view.ledger_totals import belongs_to

NANOSECONDS = 10**9
"""Nanoseconds in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSession:
    """The session that holds the lock of a ledger since a time in nanoseconds since 1970; None: there is no session.

    `shared`: several runs use the ledger. `begun` are those that the session has begun: it writes the lock when it
    takes it, and then the manifest of each run that it begins. Agents of a matrix that run one after another have one
    session each, those that run at the same time share one, and a later command such as `shrink` begins no run.
    """

    since: int | None = None
    shared: bool = False
    begun: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActivity:
    """What folder and ledger say of a run. `saved`: when its last rollout was saved, in seconds since 1970.

    `latest` is the name by which the ledger keeps the last rollout of all runs that use it.
    """

    place: Path
    run: str
    provisional: bool
    latest: str
    saved: int | None


def read_session(ledger: Path, places: Sequence[Path]) -> LedgerSession:
    """The session of a ledger that the runs in these folders use."""
    since = _modified(ledger.with_name(f"{ledger.name}.lock")) if is_locked(ledger) else None
    if since is None:
        return LedgerSession()
    current = [place for place in places if place.parent.name != EARLIER]
    begun = frozenset(place for place in current if (_modified(place / MANIFEST) or 0) >= since)
    return LedgerSession(since=since, shared=len(current) > 1, begun=begun)


def is_running(activity: RunActivity, session: LedgerSession) -> bool:
    """Whether this session, if there is one, is that of this run or of a later command of it."""
    if session.since is None or activity.place.parent.name == EARLIER:
        return False
    if not session.shared:
        return activity.provisional or belongs_to(activity.latest, activity.run)
    if activity.place in session.begun and activity.provisional:
        return len(session.begun) == 1 or not _has_ended(activity)
    command = belongs_to(activity.latest, activity.run) and activity.latest != activity.run
    return command and activity.saved is not None and (activity.saved + 1) * NANOSECONDS > session.since


def _has_ended(activity: RunActivity) -> bool:
    """Whether a run has ended early while the session goes on with other runs.

    An early end leaves a note, and new values where there are any. A run that goes on after an early end has its old
    note at first: where it has no values either, it counts as ended until it saves a rollout.
    """
    begun, noted, valued = (_modified(activity.place / name) for name in (MANIFEST, NOTES, VALUATION))
    if begun is None or noted is None:
        return False
    if valued is not None:
        return valued >= begun
    try:
        notes = RunFolder(activity.place).notes()
    except (OSError, SkillSVError):
        return False
    return bool(notes) and (activity.saved is None or activity.saved * NANOSECONDS <= noted)


def _modified(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
