"""Checks of references: missing files, files that nothing refers to, and parts that refer to each other."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname, normpath, splitext

from skillsv.compiler.lint.subject import Document, Remark, Subject
from skillsv.compiler.paths import MODULE_CALL, SCRIPT_CALL
from skillsv.model.skill import CompiledSkill, Unit

_WRITTEN_PATH = re.compile(
    r"(?<!\]\()(?<![\w/.:~@%*<>{}\[\]$\\-])(?:\./|\{baseDir\}/|\$\{?[A-Z_]+\}?/)?"
    r"((?:[\w.-]+/)+[\w.-]*\w\.[A-Za-z][A-Za-z0-9]{0,5})(?![\w/*<{(\[-])"
)

_MAX_LINE = 10_000
"""Characters; a longer line is data that a program wrote, and slow to search."""

_MAX_PLACES = 6
"""Places that a message lists."""

_SHELL_FENCES = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session"})
_FIRST_WORD = re.compile(r"(?:\./)?((?:[\w.-]+/)+[\w.-]+)(?:\s|$)")
_PROGRAM_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z]{1,4}")

_HYPOTHETICAL = re.compile(r"(?i)\bexamples?\b|\be\.g\.|\bsuch as\b|\bwould\b")
_TOKEN = re.compile(r"[\w.\-]+(?:/[\w.\-]+)*/?\*?")

_USUAL_FOLDERS = frozenset({"scripts", "references", "assets"})
"""Folders of the specification: a path into one of them is meant to be in the skill, even if the folder is missing."""

_FOR_PEOPLE = re.compile(r"(?i)(readme|changelog|contributing|authors|security)(\.\w+)?")
_FOR_TOOLS = frozenset(
    {"__init__.py", "py.typed", "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock"}
    | {"requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "tsconfig.json", "Makefile", "skillsv.toml"}
    | {"metadata.json", "openai.yaml", "plugin.json"}
)
"""Files that programs and hosts find by their names, without a reference."""


def dangling_path(subject: Subject) -> Iterator[Remark]:
    """A path into a folder that the skill has, or that skills usually have, to a file that is not there.

    In prose every path counts. In fenced shell code those of programs that a command runs do: others may be its output.
    """
    skill = subject.compiled.skill
    paths = {file.path for file in skill.files}
    folders = {path.split("/", 1)[0] for path in paths if "/" in path} | (
        set() if skill.single_file else _USUAL_FOLDERS
    )
    known = {"/".join(parts[first:]) for parts in (path.split("/") for path in paths) for first in range(len(parts))}
    for document in subject.documents:
        if _FOR_PEOPLE.fullmatch(basename(document.path)):
            continue
        for number, path in (*_paths_in_prose(document), *_called_paths(document)):
            beside = normpath(f"{dirname(document.path)}/{path}").lstrip("/")
            if path.split("/", 1)[0] not in folders or path in known or beside in paths:
                continue
            # Hidden files, caches and evals/ are not part of the skill, but they may exist.
            if not os.path.lexists(skill.root / path):
                message = f"'{path}' is not in the skill. Correct the path, or add the file."
                yield Remark(message, document.path, number)


def unreached_file(subject: Subject) -> Iterator[Remark]:
    """An auxiliary file that SKILL.md does not reach: no file on the way names it, its folder or its module."""
    compiled = subject.compiled
    reached = _reached_units(compiled)
    for unit in compiled.units:
        name = basename(unit.file)
        if unit.id in reached or name in _FOR_TOOLS or _FOR_PEOPLE.fullmatch(name):
            continue
        message = f"No reference leads to {unit.file}. Name it where it is needed, or remove it."
        yield Remark(message, unit.file)


def reference_cycle(subject: Subject) -> Iterator[Remark]:
    """Parts that refer to each other in a cycle: they can only be kept or removed together."""
    compiled = subject.compiled
    for contraction in compiled.contractions:
        unit = compiled.unit[contraction.unit]
        places = ", ".join(f"{extent.file}:{extent.lines.first}" for extent in unit.extents[:_MAX_PLACES])
        more = f" and {len(unit.extents) - _MAX_PLACES} more" if len(unit.extents) > _MAX_PLACES else ""
        message = (
            f"{len(contraction.members)} parts refer to each other in a cycle ({places}{more}; "
            f"{' '.join(contraction.rules)}), so they are valued as one. Remove a reference to value them apart."
        )
        yield Remark(message, unit.file, unit.lines.first)


def _paths_in_prose(document: Document) -> Iterator[tuple[int, str]]:
    """Line numbers and paths outside code."""
    for number, line in document.prose:
        yield from ((number, path) for path in _written_paths(line))


def _called_paths(document: Document) -> Iterator[tuple[int, str]]:
    """Line numbers and paths of the programs that fenced shell code runs."""
    for fence in document.fences:
        if fence.language not in _SHELL_FENCES:
            continue
        for index in range(fence.first + 1, fence.stop):
            line = document.lines[index].strip().removeprefix("$ ")
            if line and not line.startswith("#") and len(line) <= _MAX_LINE and not _HYPOTHETICAL.search(line):
                yield from ((index + 1, path) for path in dict.fromkeys(_programs(line)))


def _programs(line: str) -> Iterator[str]:
    called = [match["script"] for match in SCRIPT_CALL.finditer(line)]
    called += [match[1] for match in [_FIRST_WORD.match(line)] if match]
    for script in called:
        path = script.removeprefix("./").removeprefix("{baseDir}/")
        if "/" in path and _PROGRAM_FILE.fullmatch(path) and ".." not in path:
            yield path
    for match in MODULE_CALL.finditer(line) if "-m" in line else ():
        if "." in match["module"] and match["program"]:
            yield f"{match['module'].replace('.', '/')}.py"


def _written_paths(line: str) -> Iterator[str]:
    if "/" in line and len(line) <= _MAX_LINE and not _HYPOTHETICAL.search(line):
        yield from dict.fromkeys(match[1] for match in _WRITTEN_PATH.finditer(line) if ".." not in match[1])


def _reached_units(compiled: CompiledSkill) -> frozenset[str]:
    """The units that the main file leads to: by edges, or by words that no rule accepts as evidence."""
    files = {file.path: file.data or b"" for file in compiled.skill.files}
    units_by_word: dict[str, list[str]] = defaultdict(list)
    for unit in compiled.units:
        for path in _files_of(unit) - {compiled.skill.main}:
            for word in _words_for(path):
                units_by_word[word].append(unit.id)
    reached = frozenset(unit.id for unit in compiled.units if compiled.skill.main in _files_of(unit))
    reached = compiled.closure(reached)
    unread = list(dict.fromkeys(path for unit in sorted(reached) for path in sorted(_files_of(compiled.unit[unit]))))
    while unread:
        named = {unit for word in _words_in(files[unread.pop()]) for unit in units_by_word.get(word, ())} - reached
        added = compiled.closure(frozenset(named)) - reached
        reached |= added
        unread += [path for unit in sorted(added) for path in sorted(_files_of(compiled.unit[unit]))]
    return reached


def _words_for(path: str) -> set[str]:
    """The words that lead to a file: its name, its stem if that has several parts, its module, the folders above it."""
    stem = splitext(path)[0]
    title = basename(stem)
    words = {basename(path), stem.replace("/", ".")}
    if "-" in title or "_" in title.strip("_"):
        words.add(title)
    folder = dirname(path)
    while folder:
        words |= {f"{folder}/", f"{basename(folder)}/"}
        folder = dirname(folder)
    return words


def _words_in(data: bytes) -> Iterator[str]:
    """Names of files and folders in a text; those of folders, also from a glob, end in a slash."""
    for token in set(_TOKEN.findall(data.decode("utf-8", errors="replace"))):
        trimmed = token.rstrip("*.")
        if trimmed.endswith("/"):
            yield trimmed.removeprefix("./")
        elif "/" in token and token.endswith("*"):
            yield f"{dirname(trimmed).removeprefix('./')}/"
        else:
            yield basename(trimmed)


def _files_of(unit: Unit) -> set[str]:
    return {extent.file for extent in unit.extents}
