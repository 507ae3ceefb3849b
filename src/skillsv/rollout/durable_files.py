"""Writing files that survive a crash: replaced as a whole, or extended by whole lines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from skillsv.errors import OutputError


@contextmanager
def explain_output_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into an OutputError that says why the run folder cannot be written."""
    try:
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}."
        raise OutputError(what, where=str(path), hint="Free some space, or choose another --run-dir.") from error


def write_whole(path: Path, data: bytes) -> None:
    """Replace the file in one step: readers see the old bytes or the new ones, never a part."""
    with explain_output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
        sync_folder(path.parent)


def append_lines(path: Path, lines: bytes) -> None:
    """Append lines; on return they survive a power cut. A torn last line, left by a crash, is removed first."""
    with explain_output_errors(path):
        new = not path.exists()
        with path.open("ab+") as file:
            _remove_torn_line(file.fileno())
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(path.parent)


def _remove_torn_line(handle: int) -> None:
    end = size = os.fstat(handle).st_size
    step = 1 << 16
    while end > 0:
        start = max(0, end - step)
        chunk = os.pread(handle, end - start, start)
        newline = chunk.rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(handle, end)


def sync_folder(folder: Path) -> None:
    """Write the folder's own entries to disk: until then a power cut loses a new file's name."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
