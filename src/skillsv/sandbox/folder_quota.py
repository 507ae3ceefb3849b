"""The quota of a workspace: bytes and files that a program may leave in it, checked while the program runs."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

CHECK_SECONDS = 1.0
"""Time between two checks. A folder within its quota is listed in a fraction of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderQuota:
    """At most so many bytes, by the apparent sizes of files, and so many files and folders."""

    max_bytes: int
    max_files: int

    def problem(self, folder: Path) -> str | None:
        """What exceeds the quota, in one sentence; None where nothing does. Stops counting at the quota."""
        size = files = 0
        pending = [str(folder)]
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        files += 1
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        else:
                            size += entry.stat(follow_symlinks=False).st_size
                        if size > self.max_bytes:
                            return f"the working folder holds more than {self.max_bytes:,} bytes."
                        if files > self.max_files:
                            return f"the working folder holds more than {self.max_files:,} files."
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:  # what is below could not be counted
                    return "the folders in the working folder are nested too deeply."
        return None

    async def wait_until_exceeded(self, folder: Path) -> str:
        """Check the folder again and again, and return what exceeds the quota."""
        while True:
            await anyio.sleep(CHECK_SECONDS)
            problem = await anyio.to_thread.run_sync(self.problem, folder)
            if problem is not None:
                return problem


WORKSPACE_QUOTA = FolderQuota(max_bytes=16 * 1024**3, max_files=200_000)
"""The quota of programs that the user named: agents install packages."""

SANDBOX_QUOTA = FolderQuota(max_bytes=1024**3, max_files=20_000)
"""The quota of programs that a model wrote."""
