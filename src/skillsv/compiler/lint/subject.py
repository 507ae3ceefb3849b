"""The input of the checks: a compiled skill, and its Markdown files cut into lines, blocks and fences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from skillsv.compiler.draft import Draft
from skillsv.compiler.markdown import Fence, LineTable, TopBlock, cut_lines, find_fences, top_blocks
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.units import unitize
from skillsv.model.frontmatter import Frontmatter, FrontmatterEntry, frontmatter_end, read_frontmatter
from skillsv.model.skill import CompiledSkill, FileRole, SkillFile

_MAX_RESOURCE = 2_000_000
"""Bytes; the text of a larger Markdown resource is not checked: it is data that a program wrote."""

_FORMS_WITHOUT_FENCE = {"code", "html", "heading", "table", "definition"}
"""Blocks in which a row of backticks opens no fence."""


class Remark(NamedTuple):
    """The message of a check, and its place. The table of checks adds code and severity."""

    message: str
    file: str
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class Document:
    """One Markdown file of the skill."""

    path: str
    table: LineTable

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, without their ends."""
        return self.table.texts

    @cached_property
    def body_start(self) -> int:
        """The number of lines that the frontmatter takes."""
        return frontmatter_end(self.lines)

    @cached_property
    def blocks(self) -> tuple[TopBlock, ...]:
        """The top-level blocks below the frontmatter."""
        return tuple(top_blocks(self.lines, self.body_start))

    @cached_property
    def fences(self) -> tuple[Fence, ...]:
        """All fenced blocks, those inside list items and quotes included, in order."""
        return tuple(
            fence
            for block in self.blocks
            if block.form not in _FORMS_WITHOUT_FENCE
            for fence in find_fences(self.lines, block.first, block.stop)
        )

    @cached_property
    def prose(self) -> tuple[tuple[int, str], ...]:
        """Line numbers (1-based) and text of the lines outside frontmatter, fences and code blocks."""
        code = {line for fence in self.fences for line in range(fence.first, fence.stop)}
        for block in self.blocks:
            if block.form == "code":
                code.update(range(block.first, block.stop))
        return tuple(
            (index + 1, self.lines[index]) for index in range(self.body_start, len(self.lines)) if index not in code
        )


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The skill that the checks examine."""

    compiled: CompiledSkill

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The Markdown files of the skill, the main one first."""
        return (self.main, *(_document(file) for file in self.compiled.skill.files if _is_markdown_resource(file)))

    @cached_property
    def main(self) -> Document:
        """SKILL.md, or the one file."""
        return _document(self.compiled.skill.file(self.compiled.skill.main))

    @cached_property
    def frontmatter(self) -> Frontmatter:
        """The frontmatter of the main file."""
        return read_frontmatter(self.main.lines)

    @cached_property
    def entries(self) -> tuple[FrontmatterEntry, ...] | None:
        """The keys of the frontmatter; None where it is missing or unreadable, or need not follow the specification.

        The specification is for skill folders: a single Markdown file may have any frontmatter.
        """
        if self.compiled.skill.single_file or not self.frontmatter.lines or self.frontmatter.problem:
            return None
        return self.frontmatter.entries

    @cached_property
    def draft(self) -> Draft:
        """The skill after pass 1, at block granularity: the input of functions that checks share with the rules."""
        return unitize(self.compiled.skill, CompileOptions())


def _document(file: SkillFile) -> Document:
    return Document(path=file.path, table=cut_lines(file.data or b""))


def _is_markdown_resource(file: SkillFile) -> bool:
    is_markdown = file.role is FileRole.RESOURCE and file.path.lower().endswith((".md", ".markdown"))
    return is_markdown and file.data is not None and file.size <= _MAX_RESOURCE
