"""The skill that a document belongs to, compiled with the texts that the editor shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from skillsv.api.lint import holds_skill
from skillsv.compiler import CompileOptions, compile_files, read_skill, read_text
from skillsv.compiler.lint import lint_compiled
from skillsv.compiler.read import replace_texts
from skillsv.errors import SkillError
from skillsv.model.skill import CompiledSkill, Finding, Skill
from skillsv.settings import compile_options, load_settings

SINGLE_FILES = frozenset({"agents.md", "claude.md", "best_skill.md"})
"""Names (in lower case) of Markdown files that are a skill by themselves. Other Markdown files are no skills."""

_MAIN = "skill.md"
"""The main file of a skill folder, in lower case."""

_MAX_DEPTH = 6
"""Folders between a file and the skill that it belongs to."""


def find_skill(document: Path) -> Path | None:
    """The skill that a document belongs to: a folder, or the document itself; None for other documents."""
    if document.name.lower() == _MAIN:
        return document.parent
    folder = next((folder for folder in document.parents[:_MAX_DEPTH] if holds_skill(folder)), None)
    if folder is not None:
        return folder
    return document if document.name.lower() in SINGLE_FILES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSkill:
    """A skill as it lies on disk, with the findings of reading it."""

    path: Path
    skill: Skill
    findings: tuple[Finding, ...]

    @property
    def root(self) -> Path:
        """The folder that the paths of its files begin at."""
        return self.path if self.path.is_dir() else self.path.parent


def read_saved(path: Path, document: Path, text: str) -> SavedSkill:
    """The skill at a path. A main file that is not saved yet is taken from the editor."""
    try:
        skill, findings = read_skill(path, compile_options(load_settings(path, {}, guarded=False)))
    except SkillError:
        if document.exists() and text.strip() and document.stat().st_size:
            raise
        unsaved = read_text(text)
        main = replace(unsaved.files[0], path=document.name)
        single = path == document
        root, name = (path.parent, path.stem) if single else (path, path.name)
        skill = replace(unsaved, name=name, root=root, main=document.name, files=(main,), single_file=single)
        findings = ()
    return SavedSkill(path=path, skill=skill, findings=findings)


def compile_open(saved: SavedSkill, texts: Mapping[Path, str], options: CompileOptions | None = None) -> CompiledSkill:
    """The skill with the open texts, compiled: with the settings of the user, or with other options."""
    if options is None:
        options = compile_options(load_settings(saved.path, {}, guarded=False))
    inside = {str(path.relative_to(saved.root).as_posix()): text for path, text in texts.items()}
    return compile_files(replace_texts(saved.skill, inside), options, saved.findings)


def lint_open(saved: SavedSkill, texts: Mapping[Path, str]) -> tuple[Finding, ...]:
    """The findings of the skill with the open texts."""
    return lint_compiled(compile_open(saved, texts))
