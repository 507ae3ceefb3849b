"""The working folder of one rollout as the model's tools see it: no path leads out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Usage
from skillsv.sandbox.folders import walk_files
from skillsv.sandbox.process import Limits
from skillsv.sandbox.sandbox_options import WORKSPACE_MOUNT

_MAX_FILE_BYTES = 8 * 1024 * 1024
"""Largest part of a file that a tool reads."""

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Errors of the disk, which the model did not cause."""


class ToolError(Exception):
    """A tool cannot do what the model asked for. The model gets the message, and the chat goes on."""


@dataclass(slots=True, kw_only=True)
class WorkingFolder:
    """The folder at `path`, and what the model did in it.

    Programs run in the sandbox, which is bubblewrap or the container program `container`.
    `skill_path` is the folder of the skill, relative to `path` (None: not on disk). `opened` is whether the
    model has read the skill. `log` holds the transcript. `usage` grows with every response of the model, so that a
    rollout that fails later still reports its cost.
    """

    path: Path
    limits: Limits
    sandbox: bool
    container: str = ""
    skill: Rendering | None = None
    skill_path: str | None = None
    opened: bool = False
    log: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def resolve(self, name: str) -> Path:
        """The absolute path of a name that the model gave. Raises ToolError if it is outside the folder."""
        relative = (
            name.removeprefix(WORKSPACE_MOUNT).lstrip("/") if f"{name}/".startswith(f"{WORKSPACE_MOUNT}/") else name
        )
        root = self.path.resolve()
        try:
            path = (root / relative).resolve()
        except (OSError, ValueError, RuntimeError):
            raise ToolError(f"{name!r} is not a path.") from None
        if not path.is_relative_to(root):
            raise ToolError(f"{name} is outside the working folder.")
        return path

    def read(self, path: Path) -> str:
        """The text of a regular file; bytes that are not UTF-8 are replaced."""
        try:
            # O_NONBLOCK: do not wait for a pipe. O_NOFOLLOW: do not follow a link made after `resolve`.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            raise ToolError(f"{self.relative_name(path)} cannot be read: {_reason(error)}.") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ToolError(f"{self.relative_name(path)} is not a file.")
        self.note_read(path)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(_MAX_FILE_BYTES).decode("utf-8", errors="replace")

    def write(self, path: Path, text: str) -> None:
        """Write a file, and create the folders above it."""
        data = text.encode("utf-8", errors="replace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
            with os.fdopen(os.open(path, flags, 0o644), "wb") as stream:
                stream.write(data)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
                raise  # the runner records it as a failure of the disk
            raise ToolError(f"{self.relative_name(path)} cannot be written: {_reason(error)}.") from None

    def files(self, below: Path) -> Iterator[Path]:
        """The files below a folder, sorted; links are left out."""
        return (path for path in walk_files(below) if not path.is_symlink())

    def relative_name(self, path: Path) -> str:
        """The path as the model knows it: relative to the working folder."""
        root = self.path.resolve()
        return str(path.relative_to(root)) if path.is_relative_to(root) else path.name

    def note_read(self, path: Path) -> None:
        """Record that the model read a file, which opens the skill if the file belongs to it."""
        if self.skill_path and path.is_relative_to(self.path.resolve() / self.skill_path):
            self.opened = True

    def note_program(self, text: str) -> None:
        """Record that the model ran a program, which opens the skill if the program names its folder."""
        if self.skill_path and self.skill_path in text:
            self.opened = True


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
