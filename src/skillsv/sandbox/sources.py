"""Finds the files that a command line or a Python file uses, and their digest for fingerprints."""

from __future__ import annotations

import ast
import hashlib
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from skillsv.errors import SettingsError


def command_line(text: str, folder: Path) -> list[str]:
    """The words of a command (split as a shell splits them). Words that name files in `folder` become absolute paths.

    The program runs in another working folder, where `python3 agent.py` must still mean the user's agent.py. Raises
    SettingsError if the text is empty, has an open quote, or names a program that does not exist.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"The command `{text}` cannot be read: {error}.") from error
    if not words:
        raise SettingsError("The command is empty.", hint="Write command:PROGRAM followed by its arguments.")
    return [_program(words[0], folder), *(_absolute(word, folder) for word in words[1:])]


def _program(word: str, folder: Path) -> str:
    """The absolute path of the program. A word without a slash is searched on PATH first, then in `folder`."""
    if "/" in word:
        program = shutil.which(str((folder / word).expanduser().absolute()))
    else:
        program = shutil.which(word) or shutil.which(str((folder / word).absolute()))
    if program is None:
        exists = (folder / word).is_file()
        raise SettingsError(
            f"The program `{word}` {'may not be executed' if exists else 'was not found'}.",
            hint=f"Run `chmod +x {word}`." if exists else "Give its path, or put it on the PATH.",
        )
    return program


def _absolute(word: str, folder: Path) -> str:
    """The word as an absolute path if it names a file in `folder`. An option may name one after its `=`."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    file = folder / value
    return f"{option}{equals}{file.absolute()}" if value and not value.startswith("-") and _is_file(file) else word


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # for example a word that is too long for a path
        return False


def command_sources(words: Sequence[str]) -> list[Path]:
    """The program and all files among its arguments. For Python files, also what they import."""
    values = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    files = [Path(value) for value in values if value.startswith("/") and _is_file(Path(value))]
    return list(dict.fromkeys(source for file in files for source in _with_imports(file)))


def _with_imports(file: Path) -> list[Path]:
    return python_sources(file) if file.suffix == ".py" else [file]


def python_sources(file: Path) -> list[Path]:
    """The file and all files of its own folder that it imports, directly or indirectly, in a fixed order."""
    sources: set[Path] = set()
    todo = [file]
    while todo:
        current = todo.pop()
        if current not in sources:
            sources.add(current)
            todo.extend(_imported(current, file.parent))
    return sorted(sources)


def _imported(file: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # reported with a better message when the file is loaded
        return
    for name in _import_names(tree):
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            base = folder.joinpath(*parts[:depth])
            yield from (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file())


def _import_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (f"{module}.{alias.name}".strip(".") for alias in node.names)


def digest_files(words: Iterable[str], files: Iterable[Path]) -> str:
    """A digest of the words and of the bytes of the files. The paths of the files do not matter."""
    total = hashlib.sha256()
    for word in words:
        total.update(b"word\0" + word.encode() + b"\0")
    for file in files:
        with file.open("rb") as stream:
            total.update(b"file\0" + hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()
