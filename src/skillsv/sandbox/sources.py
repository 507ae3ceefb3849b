"""The files behind a command line or a Python file, so that a fingerprint changes when any of them does."""

from __future__ import annotations

import ast
import hashlib
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from skillsv.errors import SettingsError


def command_line(text: str, folder: Path) -> list[str]:
    """The words of a command (as a shell would cut them), with words that name files in `folder` made absolute.

    The program will run in another working folder, so `python3 agent.py` has to keep meaning the user's agent.py.
    Raises SettingsError where the text has no words, an open quote, or a program that does not exist.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"The command `{text}` cannot be read: {error}.") from error
    if not words:
        raise SettingsError("The command is empty.", hint="Write command:PROGRAM followed by its arguments.")
    return [_program(words[0], folder), *(_absolute(word, folder) for word in words[1:])]


def _program(word: str, folder: Path) -> str:
    """The program as an absolute path: by its path from `folder`, else on the PATH, else a file in `folder`."""
    if "/" in word:
        found = shutil.which(str((folder / word).expanduser().absolute()))
    else:
        found = shutil.which(word) or shutil.which(str((folder / word).absolute()))
    if found is None:
        exists = (folder / word).is_file()
        raise SettingsError(
            f"The program `{word}` {'may not be executed' if exists else 'was not found'}.",
            hint=f"Run `chmod +x {word}`." if exists else "Give its path, or put it on the PATH.",
        )
    return found


def _absolute(word: str, folder: Path) -> str:
    """The word, made an absolute path where it names a file in `folder` (also after the = of an option)."""
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    file = folder / value
    return f"{option}{equals}{file.absolute()}" if value and not value.startswith("-") and _is_file(file) else word


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word too long or too odd to be a path
        return False


def command_sources(words: Sequence[str]) -> list[Path]:
    """The program and every file among its arguments, with what Python files import from beside them."""
    values = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    files = [Path(value) for value in values if value.startswith("/") and _is_file(Path(value))]
    return list(dict.fromkeys(source for file in files for source in _with_imports(file)))


def _with_imports(file: Path) -> list[Path]:
    return python_sources(file) if file.suffix == ".py" else [file]


def python_sources(file: Path) -> list[Path]:
    """The file and all it imports from its own folder, directly or not, in a fixed order."""
    found: dict[Path, None] = {}
    todo = [file]
    while todo:
        current = todo.pop()
        if current not in found:
            found[current] = None
            todo.extend(_imported(current, file.parent))
    return sorted(found)


def _imported(file: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # loading or running it will say so in better words
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
    """A digest of some words and the bytes of some files; where the files lie does not matter."""
    total = hashlib.sha256()
    for word in words:
        total.update(b"word\0" + word.encode() + b"\0")
    for file in files:
        with file.open("rb") as stream:
            total.update(b"file\0" + hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()
