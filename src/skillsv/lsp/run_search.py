"""The run folder with the last values of a skill, found by the path that its manifest records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from skillsv.errors import SkillSVError
from skillsv.pipeline.stored_values import StoredValues, read_stored_values
from skillsv.rollout import RunFolder
from skillsv.rollout.run_folder import CONFIRMATION, VALUATION
from skillsv.sandbox.run_files import MANIFEST

RUNS = ".skillsv"
"""The folder of all runs, in the folder where `skillsv value` was called."""

_MAX_DEPTH = 8
"""Folders above a skill that are searched for runs."""

_MAX_RUNS = 200
"""Run folders of one place that are looked at."""


def find_values(skill: Path, more: Sequence[Path] = ()) -> StoredValues | None:
    """The last values of a skill; None where there are none. `more` are run folders in other places.

    A run belongs to the skill whose path its manifest records. Without such a run, one whose skill is not there any
    more (a folder that was moved or copied) serves, if it has the name of this skill.
    """
    runs = [run for run in (*more, *_nearby_runs(skill)) if (run / VALUATION).is_file()]
    named = [run for run in runs if _names(run, skill)]
    moved = [run for run in runs if run not in named and _is_moved(run, skill)]
    for run in (*_newest_first(named), *_newest_first(moved)):
        try:
            return _read(run, tuple(_changed_at(run / name) for name in (MANIFEST, VALUATION, CONFIRMATION)))
        except (SkillSVError, OSError):
            continue  # a damaged run, or one that ends just now: an older one serves
    return None


def _nearby_runs(skill: Path) -> Iterator[Path]:
    for folder in skill.parents[:_MAX_DEPTH]:
        try:
            found = sorted(entry for entry in (folder / RUNS).iterdir() if entry.is_dir())
        except OSError:
            continue
        yield from found[:_MAX_RUNS]


@lru_cache(maxsize=8)
def _read(run: Path, _changed: tuple[int, ...]) -> StoredValues:
    """The values of a run, read again when one of its files has changed."""
    return read_stored_values(run)


def _names(run: Path, skill: Path) -> bool:
    recorded = _recorded(run)[0]
    return recorded is not None and recorded in {skill, skill.resolve()}


def _is_moved(run: Path, skill: Path) -> bool:
    recorded, name = _recorded(run)
    return recorded is not None and not recorded.exists() and name in {skill.name, skill.stem}


def _recorded(run: Path) -> tuple[Path | None, str]:
    """The path and the name of the skill of a run."""
    try:
        manifest = RunFolder(run).manifest() or {}
        path, name = manifest["about"]["skill"], manifest["skill"]["name"]
    except (SkillSVError, OSError, KeyError, TypeError):
        return None, ""
    return (Path(path).resolve() if path else None), str(name)


def _newest_first(runs: list[Path]) -> list[Path]:
    return sorted(runs, key=lambda run: -_changed_at(run / VALUATION))


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
