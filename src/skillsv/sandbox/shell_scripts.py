"""Finds the scripts that a shell script names, and those that they name, as far as reading the text shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from skillsv.sandbox.sources import is_file, python_sources

_LONGEST_SCRIPT = 1024 * 1024
"""Bytes of a shell script that are searched for the names of other scripts."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
"""Programs whose argument after `-c` is a script."""

_SHELL_SUFFIXES = frozenset({".sh", ".bash", ".zsh"})
_SCRIPT_SUFFIXES = _SHELL_SUFFIXES | {".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".R", ".lua", ".php"}
"""Names that a script may end in. Other files that a script names may be the task's or the skill's."""

_SYSTEM_FOLDERS = tuple(
    Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys")
)
"""Folders of the system: their programs are not covered, unless the command itself names one."""

_SKILL_PATH = re.compile(r"\$\{?SKILLSV_\w+\}?[^\s\"';|&]*")
"""A path inside the skill or another folder that we set: the rendering covers it."""

_WORD = re.compile(r"[\w./~@%+,:-]+")
"""What may be a path in a shell script."""


def shell_text(argv: Sequence[str]) -> str:
    """The script after `-c` of a shell; empty where there is none."""
    if Path(argv[0]).name not in _SHELLS:
        return ""
    flags = [index for index, word in enumerate(argv[:-1]) if re.fullmatch(r"-[a-zA-Z]*c", word)]
    return argv[flags[0] + 1] if flags else ""


def reach_scripts(files: Iterable[Path], folder: Path) -> set[Path]:
    """The files, and all scripts and modules that can be reached from them. Installed programs are not searched."""
    found: set[Path] = set()
    todo = list(files)
    while todo:
        file = todo.pop()
        if file in found:
            continue
        found.add(file)
        if file.suffix == ".py":
            todo.extend(python_sources(file, relative=True))
        elif not in_system_folder(file) and _is_shell_script(file):
            todo.extend(named_scripts(file.read_text("utf-8", errors="replace"), [file.parent, folder]))
    return found


def _is_shell_script(file: Path) -> bool:
    try:
        if file.stat().st_size > _LONGEST_SCRIPT:
            return False
        with file.open("rb") as stream:
            first = stream.readline(200)
    except OSError:
        return False
    program = first[2:].split() if first.startswith(b"#!") else []
    return file.suffix in _SHELL_SUFFIXES or any(Path(os.fsdecode(word)).name in _SHELLS for word in program[:2])


def named_scripts(text: str, bases: Sequence[Path]) -> Iterator[Path]:
    """The scripts that a shell script names, relative to `bases` or to a folder that it names."""
    words = list(dict.fromkeys(_WORD.findall(_SKILL_PATH.sub(" ", text))))
    folders = [Path(word) for word in words if word.startswith("/") and _is_folder(Path(word))]
    for word in words:
        places = [Path(word)] if word.startswith("/") else []
        places += [base / word.lstrip("/") for base in (*bases, *folders) if word.strip("/.")]
        yield from (place.absolute() for place in places if _is_helper(place))


def in_system_folder(path: Path) -> bool:
    """Whether the path is in a folder of the operating system, or in one where programs are installed (PATH)."""
    installed = [Path(folder) for folder in os.get_exec_path() if folder.startswith("/")]
    return any(path.is_relative_to(folder) for folder in (*_SYSTEM_FOLDERS, *installed))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not in_system_folder(path) and path != Path("/")
    except (OSError, ValueError):
        return False


def _is_helper(path: Path) -> bool:
    return (
        is_file(path)
        and not in_system_folder(path.absolute())
        and (path.suffix in _SCRIPT_SUFFIXES or (not path.suffix and os.access(path, os.X_OK)))
    )
