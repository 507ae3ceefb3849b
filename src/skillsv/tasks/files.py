"""The files a task brings along: found beside the tasks, never outside their folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from skillsv.errors import TaskError


def task_files(value: Any, folder: Path, where: str) -> dict[str, Path]:
    """`files` of a task: a list of paths, or an object from the path in the working folder to the path of the file.

    Paths of files are relative to `folder`. One that is missing, or leaves the folder by `..` or a symlink, is refused.
    """
    if value is None:
        return {}
    if isinstance(value, list):
        value = {name: name for name in value if isinstance(name, str)} if _all_text(value) else value
    if not isinstance(value, Mapping) or not _all_text([*value.keys(), *value.values()]):
        raise TaskError(
            "`files` must be a list of paths, or an object from path to path.", where=where, hint='["data.csv"]'
        )
    return {_destination(name, where): found_file(source, folder, where) for name, source in value.items()}


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _destination(name: str, where: str) -> str:
    """The path in the working folder, cleaned of `./`."""
    pure = PurePosixPath(name)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\0" in name:
        raise TaskError(f"The file `{name}` would lie outside the working folder.", where=where)
    return str(pure)


def found_file(name: str, folder: Path, where: str) -> Path:
    """Where the named file really lies; a TaskError if it is missing, no file, or outside `folder`."""
    try:
        real = (folder / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise TaskError(f"The file `{name}` was not found.", where=where, hint=f"Looked in {folder}.") from error
    if not real.is_relative_to(folder.resolve()):
        raise TaskError(f"The file `{name}` lies outside the tasks' folder.", where=where, hint="Copy it in there.")
    if not real.is_file():
        raise TaskError(f"`{name}` is not a file.", where=where, hint="Name the files one by one.")
    return real
