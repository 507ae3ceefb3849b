"""The defects of a skill, the repair of those that are mechanical, and the skills below a folder."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from skillsv.api.skill import Skill
from skillsv.api.skill import compile as compile_skill
from skillsv.errors import SettingsError, SkillError
from skillsv.model.skill import Finding

_MAX_DEPTH = 5
"""Folders between the one that is given and a skill below it."""

_MAIN = "skill.md"
"""The main file of a skill folder, in lower case."""


def lint(
    skill: Skill | str | os.PathLike[str], *, every: bool = False, ignore: Collection[str] = (), **settings: object
) -> tuple[Finding, ...]:
    r"""The defects of a skill: dangling links, dead files, broken fences, frontmatter that agents refuse.

    >>> import skillsv as sv
    >>> [finding.code for finding in sv.lint("# Steps\n\nRead the notes.\n")]
    ['no-frontmatter']

    `every` adds the checks that are seldom useful (undefined symbols, cycles). Findings with a code to `ignore` are
    left out. `settings` are those of the compiler.
    """
    from skillsv.compiler.lint import lint_compiled

    require_codes(ignore)
    found = lint_compiled(compile_skill(skill, **settings).compiled, every=every)
    return tuple(finding for finding in found if finding.code not in ignore)


def fix(path: Path, *, ignore: Collection[str] = (), **settings: object) -> tuple[str, ...]:
    """Repair the mechanical defects of the skill at a path, in its files. The result: the paths that were written."""
    from skillsv.compiler.lint import fixed_files

    require_codes(ignore)
    compiled = compile_skill(path, **settings).compiled
    files = fixed_files(compiled, frozenset(ignore))
    for name, data in files.items():
        _write(compiled.skill.root / name, data)
    return tuple(files)


def require_codes(codes: Collection[str]) -> None:
    """Raise SettingsError for a code that no finding has."""
    from skillsv.compiler.lint import finding_titles

    unknown = sorted(set(codes) - set(finding_titles()))
    if unknown:
        raise SettingsError(f"no finding has the code '{unknown[0]}'.", hint="'skillsv lint --rules' lists the codes.")


def find_skills(path: Path) -> list[Path]:
    """The skill at a path; where the path is a folder without one, every skill folder below it, in order."""
    if not path.is_dir() or holds_skill(path):
        return [path]
    return _skills_below(path, _MAX_DEPTH) or [path]


def _skills_below(folder: Path, depth: int) -> list[Path]:
    """Skill folders below a folder; what lies below a skill belongs to it. Links and hidden folders are left out."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError:
        return []
    found: list[Path] = []
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "node_modules":
            continue
        if holds_skill(entry):
            found.append(entry)
        elif depth > 1:
            found += _skills_below(entry, depth - 1)
    return found


def holds_skill(folder: Path) -> bool:
    """Whether a folder is a skill: it holds a SKILL.md. False for one that cannot be read."""
    try:
        return any(entry.name.lower() == _MAIN for entry in folder.iterdir())
    except OSError:
        return False


def _write(path: Path, data: bytes) -> None:
    """Write a file that is there. A symbolic link is refused."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as file:
            file.write(data)
    except OSError as error:
        raise SkillError(f"cannot be repaired: {error.strerror}.", where=str(path), hint="Is it writable?") from error
