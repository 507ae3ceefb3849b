"""The working folder as the model's tools see it: paths stay inside, whatever programs left there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Usage
from skillsv.sandbox.bubblewrap import INSIDE
from skillsv.sandbox.process import Limits

_LARGEST = 8 * 1024 * 1024
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class ToolError(Exception):
    """A tool cannot do what the model asked; the model is told why and goes on."""


@dataclass(slots=True, kw_only=True)
class WorkingFolder:
    """One rollout's working folder. `place` is the skill's folder in it, `opened` whether the model looked there.

    `usage` grows with every answer of the model, so that a rollout that fails later still says what it spent.
    """

    folder: Path
    limits: Limits
    sandbox: bool
    skill: Rendering | None = None
    place: str | None = None
    opened: bool = False
    log: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def find(self, path: str) -> Path:
        """Where a path of the model's leads; refused where that is outside the folder, by a link or otherwise."""
        relative = path.removeprefix(INSIDE).lstrip("/") if f"{path}/".startswith(f"{INSIDE}/") else path
        root = self.folder.resolve()
        try:
            found = (root / relative).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ToolError(f"{path!r} is not a path.") from None
        if not found.is_relative_to(root):
            raise ToolError(f"{path} is outside the working folder.")
        return found

    def read(self, path: Path) -> str:
        """The text of a regular file; bytes that are no text are replaced."""
        try:
            # Never wait on a pipe, never follow a link that appeared since the path was looked at.
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            raise ToolError(f"{self.shown(path)} cannot be read: {_reason(error)}.") from None
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise ToolError(f"{self.shown(path)} is not a file.")
        self.look_at(path)
        with os.fdopen(number, "rb") as stream:
            return stream.read(_LARGEST).decode("utf-8", errors="replace")

    def write(self, path: Path, text: str) -> None:
        """Write a file, and the folders above it."""
        data = text.encode("utf-8", errors="replace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
            with os.fdopen(number, "wb") as stream:
                stream.write(data)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise  # nothing that the model did: the runner makes it a failure of the disk
            raise ToolError(f"{self.shown(path)} cannot be written: {_reason(error)}.") from None

    def files(self, below: Path) -> Iterator[Path]:
        """The regular files below a folder, in order; links are not followed."""
        for folder, folders, names in os.walk(below):
            folders.sort()
            yield from (path for name in sorted(names) if not (path := Path(folder) / name).is_symlink())

    def shown(self, path: Path) -> str:
        """A path as the model knows it: relative to the working folder."""
        root = self.folder.resolve()
        return str(path.relative_to(root)) if path.is_relative_to(root) else path.name

    def look_at(self, path: Path) -> None:
        """Note that the model looked at a file, if it is one of the skill's."""
        if self.place and path.is_relative_to(self.folder.resolve() / self.place):
            self.opened = True

    def mention(self, text: str) -> None:
        """Note that the model ran a program that names the skill's folder."""
        if self.place and self.place in text:
            self.opened = True


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
