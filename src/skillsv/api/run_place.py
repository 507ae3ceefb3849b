"""Where a run is kept: the folder that the caller names, one of its own, or a temporary one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skillsv.rollout import RunFolder
from skillsv.sandbox.workspace import folder_name

TEMPORARY = "No run_dir was given: the run is kept in a temporary folder, which is deleted with the run object."
"""The note of a run without a folder of its own."""


class TemporaryFolder:
    """A folder that is deleted with this object, or when the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="skillsv-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """The folder of a run. `temporary` deletes it, where it is a temporary one; `notes` say so."""

    folder: RunFolder
    temporary: TemporaryFolder | None = None
    notes: tuple[str, ...] = ()


def choose_place(
    skill: Path | None, name: str, run_dir: Path | None, default_dir: Callable[[str], Path] | None
) -> RunPlace:
    """The place of a run of the skill with this name: `run_dir`, else what `default_dir` gives, else a temporary one.

    Raises OutputError for a folder that holds other files. `skill` is the path it was read from; None: a text.
    """
    if run_dir is None and default_dir is not None:
        run_dir = default_dir(name)
    if run_dir is None:
        temporary = TemporaryFolder()
        place = RunPlace(folder=RunFolder(temporary.path / folder_name(name)), temporary=temporary, notes=(TEMPORARY,))
    else:
        place = RunPlace(folder=RunFolder(run_dir))
    place.folder.check_place(skill, name)
    return place


def default_folder(name: str) -> Path:
    """The run folder of a skill on the command line, unless --run-dir names another."""
    return Path(".skillsv") / folder_name(name)
