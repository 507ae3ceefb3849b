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
    return f"{option}{equals}{file.absolute()}" if value and not value.startswith("-") and is_file(file) else word


def is_file(path: Path) -> bool:
    """Whether the path names a file. False also for a text that cannot be a path."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # for example a word that is too long for a path
        return False


def command_sources(words: Sequence[str]) -> list[Path]:
    """The program and all files among its arguments. For Python files, also what they import."""
    values = (word.partition("=")[2] if word.startswith("-") else word for word in words)
    files = [Path(value) for value in values if value.startswith("/") and is_file(Path(value))]
    return list(dict.fromkeys(source for file in files for source in _with_imports(file)))


def _with_imports(file: Path) -> list[Path]:
    return python_sources(file) if file.suffix == ".py" else [file]


def python_sources(file: Path, *, relative: bool = False) -> list[Path]:
    """The file and all files of its own folder that it imports, directly or indirectly, in a fixed order.

    Names are looked up in the folder of `file`. With `relative`, relative imports are also looked up in the package of
    the file that has them; the first part of a fingerprint does not cover those.
    """
    sources: set[Path] = set()
    todo = [file]
    while todo:
        current = todo.pop()
        if current not in sources:
            sources.add(current)
            todo.extend(_imported(current, file.parent, relative=relative))
    return sorted(sources)


def _imported(file: Path, folder: Path, *, relative: bool) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # reported with a better message when the file is loaded
        return
    for name in _import_names(tree):
        yield from _modules(name, folder)
    if relative:
        for level, name in _relative_names(tree):
            package = file.parents[min(level, len(file.parents)) - 1]
            yield from (path for path in (package / "__init__.py",) if path.is_file())
            yield from _modules(name, package)


def _modules(name: str, folder: Path) -> Iterator[Path]:
    """The files of a module and of the packages that it is in."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        base = folder.joinpath(*parts[:depth])
        yield from (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file())


def _relative_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The relative imports of a file: the number of dots, and the name after them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield from ((node.level, f"{node.module or ''}.{alias.name}".strip(".")) for alias in node.names)


def _import_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from (f"{module}.{alias.name}".strip(".") for alias in node.names)


def digest_files(words: Iterable[str], files: Iterable[Path]) -> str:
    """A digest of the words and of the bytes of the files. The paths of the files do not matter."""
    return digest_words(words, map(hash_file, files))


def digest_words(words: Iterable[str], file_digests: Iterable[bytes]) -> str:
    """A digest of the words and of files whose digests are known."""
    total = hashlib.sha256()
    for word in words:
        total.update(b"word\0" + word.encode() + b"\0")
    for digest in file_digests:
        total.update(b"file\0" + digest)
    return total.hexdigest()


def hash_file(file: Path) -> bytes:
    """The SHA-256 of the bytes of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
