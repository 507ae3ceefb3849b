"""Reading a skill folder, or one Markdown file, byte for byte. Symbolic links are never followed."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from skillsv.compiler.markdown import BOM
from skillsv.compiler.options import CompileOptions
from skillsv.errors import SkillError
from skillsv.model.skill import FileRole, Finding, Severity, Skill, SkillFile

MAIN = "SKILL.md"
"""The name of the main file of a skill folder."""

MAX_RESOURCE_IN_MEMORY = 4 * 1024 * 1024
"""Bytes; a larger resource stays on disk: its digest is computed in chunks, rendering copies it, no rule reads it."""

MAX_TOTAL_IN_MEMORY = 256 * 1024 * 1024
"""Bytes; once the resources in memory reach this size, further ones stay on disk."""

MAX_MAIN_FILE = 64 * 1024 * 1024
"""Bytes; no agent could read a larger main file."""

MAX_RESOURCE = 1024**3
"""Bytes of one file beside the main file, by its apparent size: a sparse file of a terabyte takes no room on disk."""

MAX_SKILL = 4 * 1024**3
"""Bytes of all files of a skill: each rollout gets a copy."""

MAX_FILES = 20_000
"""Files of a skill: each rollout gets a copy."""

_ANSWER_FOLDER = "evals"
"""The folder of tasks and answers, which must never reach an agent."""

_CACHE_FOLDERS = {"__pycache__", "node_modules", "__MACOSX"}
_CACHE_ENDINGS = {".pyc", ".pyo"}
_MARKDOWN_ENDINGS = {".md", ".markdown", ".mdown", ".mkd", ".mdx", ".mdc"}
_LEGAL = re.compile(r"(LICEN[SC]E|NOTICE|COPYING)([-._][\w.-]*)?", re.IGNORECASE)
_LEGAL_ENDINGS = {"", ".txt", ".md", ".rst", ".html"}

_NAME_LINE = re.compile(r"^name:[ \t]*[\"']?([\w][\w .-]*?)[\"']?[ \t]*$", re.MULTILINE)
"""The name in the frontmatter of a skill, where it is a plain word."""

_CHUNK = 1024 * 1024
"""Bytes read at once to compute the digest of a large file."""

_SAMPLE_BYTES = 8192
"""Bytes at the start of the main file that decide whether it is text."""

_NOT_TEXT = "�" + "".join(chr(code) for code in range(32) if chr(code) not in "\t\n\f\r")
"""Characters that text does not contain: the replacement of invalid bytes, and control characters."""


class FolderFile(NamedTuple):
    """A regular file by its path below the skill; `nested`: it belongs to another skill inside this one."""

    path: str
    nested: bool


def read_skill(path: Path, options: CompileOptions | None = None) -> tuple[Skill, tuple[Finding, ...]]:
    """Read a skill with everything that belongs to it; the findings name what was left out."""
    options = options or CompileOptions()
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SkillError(
            f"There is no skill at {path}: {_reason(error)}.", hint="Give a skill folder or one Markdown file."
        ) from error
    if stat.S_ISDIR(mode):
        return _read_folder(path, options)
    if not stat.S_ISREG(mode) or path.suffix.lower() not in _MARKDOWN_ENDINGS:
        raise SkillError(
            f"{path} is neither a folder nor a Markdown file.",
            hint="Give a skill folder, or a file that ends in .md.",
        )
    main = _read_main(path, path.name, follow=True)
    visible = [entry for entry in path.parent.iterdir() if not entry.name.startswith(".")]
    findings = (_single_file(path),) if path.name == MAIN and len(visible) > 1 else ()
    return Skill(name=path.stem, root=path.parent, main=path.name, files=(main,), single_file=True), findings


def read_text(text: str) -> Skill:
    """A skill that is one Markdown text. Its name is the one in its frontmatter, or "skill"."""
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > MAX_MAIN_FILE:
        raise SkillError(f"The text has {len(data)} bytes, more than any agent can read.", hint="Give a shorter text.")
    if not data.removeprefix(BOM).strip():
        raise SkillError("The text is empty.", hint="Give the Markdown text of a skill.")
    main = SkillFile(path=MAIN, role=FileRole.MAIN, data=data, size=len(data), digest=hashlib.sha256(data).hexdigest())
    name = _NAME_LINE.search(text) if text.startswith("---") else None
    return Skill(name=name[1] if name else "skill", root=Path(), main=MAIN, files=(main,), single_file=True)


def replace_texts(skill: Skill, texts: Mapping[str, str]) -> Skill:
    """The skill with other texts of some of its files, by path: what an editor shows and has not saved yet.

    Raises SkillError where the text of the main file is empty.
    """
    if skill.main in texts and not texts[skill.main].strip():
        raise SkillError("The main file is empty.", where=skill.main, hint="Write the skill first.")
    data = {path: text.encode("utf-8", "replace") for path, text in texts.items()}
    files = (_with_data(file, data[file.path]) if file.path in data else file for file in skill.files)
    return replace(skill, files=tuple(files))


def _with_data(file: SkillFile, data: bytes) -> SkillFile:
    return replace(file, data=data, size=len(data), digest=hashlib.sha256(data).hexdigest())


def _read_folder(root: Path, options: CompileOptions) -> tuple[Skill, tuple[Finding, ...]]:
    main, findings = _main_name(root)
    files = [_read_main(root / main, main, follow=False)]
    memory_left = MAX_TOTAL_IN_MEMORY
    bytes_left = MAX_SKILL
    for entry in walk(root, main):
        if isinstance(entry, Finding):
            findings.append(entry)
            continue
        role = FileRole.CARRIED if entry.nested else _role(entry.path, options)
        try:
            bytes_left -= _check_size(root, entry.path, bytes_left, len(files))
            files.append(_read_resource(root, entry.path, role, min(memory_left, MAX_RESOURCE_IN_MEMORY)))
        except OSError as error:
            findings.append(_unreadable(entry.path, error))
        else:
            memory_left -= 0 if files[-1].data is None else files[-1].size
    name = root.resolve().name or "skill"
    ordered = sorted(files, key=lambda file: (file.path != main, file.path))
    return Skill(name=name, root=root, main=main, files=tuple(ordered)), tuple(findings)


def walk(root: Path, main: str) -> Iterator[FolderFile | Finding]:
    """Every regular file but the main one, in a fixed order.

    Hidden files and caches are left out without a word; everything else that is left out gives a finding.
    """
    pending = [("", False)]
    while pending:
        folder, nested = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield _unreadable(folder or ".", error)
            continue
        if folder and not nested and any(entry.name.lower() == MAIN.lower() for entry in entries):
            nested = True
            yield _note("nested-skill", "is another skill; it is carried along, not valued", folder)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path == main or _is_skipped(entry.name):
                continue
            problem = _problem(entry, path)
            if problem is not None:
                yield problem
            elif entry.is_dir(follow_symlinks=False):
                pending.append((path, nested))
            else:
                yield FolderFile(path, nested)


def _main_name(root: Path) -> tuple[str, list[Finding]]:
    try:
        names = sorted(entry.name for entry in root.iterdir() if entry.name.lower() == MAIN.lower())
    except OSError as error:
        raise SkillError(
            f"The folder {root} cannot be read: {_reason(error)}.", hint="Check its permissions."
        ) from error
    if not names:
        raise SkillError(
            f"The folder {root} has no {MAIN}.", hint=f"Give the folder that holds {MAIN}, or one Markdown file."
        )
    if MAIN in names:
        return MAIN, []
    message = f"The main file is called {names[0]}; agents look for {MAIN}. Rename it."
    return names[0], [Finding(code="main-name", severity=Severity.WARNING, message=message, file=names[0])]


def _read_main(path: Path, name: str, *, follow: bool) -> SkillFile:
    if not follow and path.is_symlink():
        raise SkillError(
            "The main file is a symbolic link, and links are never followed.",
            where=str(path),
            hint="Give the file that it points to, or put the text there.",
        )
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise SkillError(
                "The main file is not a regular file.", where=str(path), hint="Give a folder with a real file."
            )
        if info.st_size > MAX_MAIN_FILE:
            raise SkillError(
                f"The main file has {info.st_size} bytes, more than any agent can read.",
                where=str(path),
                hint="Give the skill's own SKILL.md.",
            )
        data = path.read_bytes()
    except OSError as error:
        raise SkillError(
            f"The main file cannot be read: {_reason(error)}.", where=str(path), hint="Check its permissions."
        ) from error
    if not data.removeprefix(BOM).strip():
        raise SkillError("The main file is empty.", where=str(path), hint="Write the skill first.")
    if not _is_text(data):
        raise SkillError(
            "The main file is not Markdown: most of it cannot be read as text.",
            where=str(path),
            hint="Give a text file, saved as UTF-8.",
        )
    return _in_memory(name, FileRole.MAIN, data, info, path)


def _check_size(root: Path, path: str, bytes_left: int, files: int) -> int:
    """The apparent size of a file. Raises SkillError where the file or the skill is too large to be copied."""
    size = (root / path).lstat().st_size
    problem = None
    if size > MAX_RESOURCE:
        problem = f"The file {path} has {size:,} bytes; a file of a skill may have {MAX_RESOURCE:,}."
    elif size > bytes_left:
        problem = f"The files of the skill have more than {MAX_SKILL:,} bytes."
    elif files >= MAX_FILES:
        problem = f"The skill has more than {MAX_FILES:,} files."
    if problem is not None:
        raise SkillError(problem, where=str(root), hint="Each rollout gets a copy: keep data out of the skill folder.")
    return size


def _read_resource(root: Path, path: str, role: FileRole, limit: int) -> SkillFile:
    """One file; beyond `limit` bytes it stays on disk. A link created since the folder was listed is refused."""
    origin = root / path
    with os.fdopen(os.open(origin, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        info = os.fstat(file.fileno())
        if info.st_size <= limit:
            return _in_memory(path, role, file.read(limit), info, origin)
        digest = hashlib.sha256()
        while part := file.read(_CHUNK):
            digest.update(part)
    return SkillFile(
        path=path,
        role=role,
        data=None,
        size=info.st_size,
        digest=digest.hexdigest(),
        executable=bool(info.st_mode & 0o111),
        origin=origin,
    )


def _in_memory(path: str, role: FileRole, data: bytes, info: os.stat_result, origin: Path) -> SkillFile:
    return SkillFile(
        path=path,
        role=role,
        data=data,
        size=len(data),
        digest=hashlib.sha256(data).hexdigest(),
        executable=bool(info.st_mode & 0o111),
        origin=origin,
    )


def _role(path: str, options: CompileOptions) -> FileRole:
    name = path.rpartition("/")[2]
    if _LEGAL.fullmatch(name) and PurePosixPath(name).suffix.lower() in _LEGAL_ENDINGS:
        return FileRole.CARRIED
    if options.include and not _matches(path, options.include):
        return FileRole.CARRIED
    return FileRole.CARRIED if _matches(path, options.exclude) else FileRole.RESOURCE


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern names the path, or a folder above it (`assets`, `assets/`, `*.png`)."""
    return any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern.rstrip('/')}/*") for pattern in patterns)


def _is_text(data: bytes) -> bool:
    """Whether a file is UTF-8 text. A few NUL characters or invalid bytes are allowed."""
    sample = data[:_SAMPLE_BYTES]
    if b"\0" not in sample:
        return True
    text = sample.decode("utf-8", errors="replace")
    return sum(map(text.count, _NOT_TEXT)) * 10 <= len(text) * 3


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name in _CACHE_FOLDERS or PurePosixPath(name).suffix in _CACHE_ENDINGS


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _problem(entry: os.DirEntry[str], path: str) -> Finding | None:
    """Why an entry of a folder is left out; None where it is not."""
    if not _is_utf8(path):
        return _left_out("file-name", "has a name that is not UTF-8", ascii(path))
    if entry.is_symlink():
        return _left_out("symlink", "is a symbolic link, and links are never followed", path)
    if entry.is_dir(follow_symlinks=False):
        is_answers = entry.name == _ANSWER_FOLDER
        return _note("evals", "holds answers and never reaches the agent", path) if is_answers else None
    return None if entry.is_file(follow_symlinks=False) else _left_out("special-file", "is not a regular file", path)


def _unreadable(path: str, error: OSError) -> Finding:
    return _left_out("unreadable", f"cannot be read ({_reason(error)})", path)


def _reason(error: OSError) -> str:
    """The operating system's own words for an error."""
    return (error.strerror or str(error)).lower()


def _left_out(code: str, reason: str, path: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=f"{path} {reason}; it is left out.", file=path)


def _note(code: str, fact: str, path: str) -> Finding:
    return Finding(code=code, severity=Severity.NOTE, message=f"{path}/ {fact}.", file=path)


def _single_file(path: Path) -> Finding:
    message = f"Only this file is read. Give the folder {path.parent.resolve().name} to include the files beside it."
    return Finding(code="single-file", severity=Severity.NOTE, message=message, file=path.name)
