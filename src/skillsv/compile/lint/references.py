"""What the skill points at that is not there, and what is there that nothing points at."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname, normpath, splitext

from skillsv.compile.lint.subject import Remark, Subject
from skillsv.model.skill import CompiledSkill, Unit

_PATH = re.compile(
    r"(?<!\]\()(?<![\w/.:~@%*<>{}\[\]$\\-])(?:\./|\{baseDir\}/|\$\{?[A-Z_]+\}?/)?"
    r"((?:[\w.-]+/)+[\w.-]*\w\.[A-Za-z][A-Za-z0-9]{0,5})(?![\w/*<{(\[-])"
)
_LONGEST_LINE = 10_000
_HYPOTHETICAL = re.compile(r"(?i)\bexamples?\b|\be\.g\.|\bsuch as\b|\bwould\b")
_TOKEN = re.compile(r"[\w.\-]+(?:/[\w.\-]+)*/?\*?")
_USUAL = frozenset({"scripts", "references", "assets"})
"""Folders that the specification names: a path into one of them means the skill, whether it has the folder or not."""
_FOR_PEOPLE = re.compile(r"(?i)(readme|changelog|contributing|authors|security)(\.\w+)?")
_FOR_TOOLS = frozenset(
    {"__init__.py", "py.typed", "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "uv.lock"}
    | {"requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "tsconfig.json", "Makefile", "skillsv.toml"}
    | {"metadata.json", "openai.yaml", "plugin.json"}
)
"""Files that programs and hosts find by their names, without being told."""


def dangling_path(subject: Subject) -> Iterator[Remark]:
    """A path into a folder that the skill has, or that skills usually have, to a file that is not there."""
    skill = subject.compiled.skill
    paths = {file.path for file in skill.files}
    folders = {path.split("/", 1)[0] for path in paths if "/" in path} | (set() if skill.single_file else _USUAL)
    known = {"/".join(parts[first:]) for parts in (path.split("/") for path in paths) for first in range(len(parts))}
    for document in subject.documents:
        if _FOR_PEOPLE.fullmatch(basename(document.path)):
            continue
        for number, line in document.prose:
            for path in _written_paths(line):
                beside = normpath(f"{dirname(document.path)}/{path}").lstrip("/")
                if path.split("/", 1)[0] not in folders or path in known or beside in paths:
                    continue
                # Hidden files, caches and evals/ are no part of the skill, yet they may be there.
                if not os.path.lexists(skill.root / path):
                    words = f"'{path}' is not in the skill. Correct the path, or add the file."
                    yield Remark(words, document.path, number)


def _written_paths(line: str) -> Iterator[str]:
    if "/" in line and len(line) <= _LONGEST_LINE and not _HYPOTHETICAL.search(line):
        yield from dict.fromkeys(match[1] for match in _PATH.finditer(line) if ".." not in match[1])


def unreached(subject: Subject) -> Iterator[Remark]:
    """An auxiliary file that neither SKILL.md nor any file it leads to names, imports, or reaches by its folder."""
    compiled = subject.compiled
    reached = _reached(compiled)
    for unit in compiled.units:
        name = basename(unit.file)
        if unit.id in reached or name in _FOR_TOOLS or _FOR_PEOPLE.fullmatch(name):
            continue
        words = f"Nothing leads to {unit.file}. Name it where it is needed, or remove it."
        yield Remark(words, unit.file)


def _reached(compiled: CompiledSkill) -> frozenset[str]:
    """The units that the main file leads to: by the rules' edges, or by words that are weaker than a rule asks for."""
    files = {file.path: file.data or b"" for file in compiled.skill.files}
    ways: dict[str, list[str]] = defaultdict(list)
    for unit in compiled.units:
        for path in _files_of(unit) - {compiled.skill.main}:
            for word in _words_for(path):
                ways[word].append(unit.id)
    reached = frozenset(unit.id for unit in compiled.units if compiled.skill.main in _files_of(unit))
    reached = compiled.closure(reached)
    unread = list(dict.fromkeys(path for unit in sorted(reached) for path in sorted(_files_of(compiled.unit[unit]))))
    while unread:
        found = {unit for word in _words_in(files[unread.pop()]) for unit in ways.get(word, ())} - reached
        more = compiled.closure(frozenset(found)) - reached
        reached |= more
        unread += [path for unit in sorted(more) for path in sorted(_files_of(compiled.unit[unit]))]
    return reached


def _words_for(path: str) -> set[str]:
    """The words that lead to a file: its name (a telling one also without ending), its module, a folder above it."""
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
    """Names of files and folders in a text; a folder ends in a slash, as does the folder of a glob."""
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
