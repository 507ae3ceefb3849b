"""Runs of other settings, or of another version of the skill, that ran in the same folder before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillsv.errors import RecordsError
from skillsv.rollout.run_folder import EARLIER, RunFolder
from skillsv.sandbox.run_files import MANIFEST


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """One earlier run. `name` is what `--run` takes; `ended` is when its manifest was last written (UTC).

    `rollouts` were paid for by this run; `valued` says whether it has a valuation.
    """

    name: str
    ended: str
    agent: str
    tasks: int
    rollouts: int
    valued: bool


def list_earlier_runs(path: Path) -> list[EarlierRun]:
    """The earlier runs of a run folder, the newest first. A folder whose manifest cannot be read is left out."""
    runs = []
    for place in (path / EARLIER).glob("*") if (path / EARLIER).is_dir() else ():
        try:
            folder = RunFolder(place)
            manifest = folder.manifest()
            if manifest is not None:
                time = (place / MANIFEST).stat().st_mtime
                runs.append((time, _describe(folder, str((manifest.get("agent") or {}).get("spec", "")), time)))
        except (RecordsError, OSError):
            continue
    return [run for _, run in sorted(runs, key=lambda item: -item[0])]


def find_run(path: Path, name: str) -> Path:
    """The folder of the run with this name: the current one, or an earlier one. Raises RecordsError for none."""
    if RunFolder(path).run_id == name:
        return path
    known = {run.name for run in list_earlier_runs(path)}
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise RecordsError(f"there is no run {name} in this folder.", where=str(path), hint=f"Earlier runs: {names}.")
    return path / EARLIER / name


def _describe(folder: RunFolder, agent: str, time: float) -> EarlierRun:
    status, manifest = folder.status(), folder.manifest() or {}
    return EarlierRun(
        name=folder.path.name,
        ended=datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds"),
        agent=agent,
        tasks=len(manifest.get("panel_a", {})),
        rollouts=status.rollouts,
        valued=status.valued,
    )
