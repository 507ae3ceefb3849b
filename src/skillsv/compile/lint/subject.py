"""What the checks look at: a compiled skill, and its Markdown files cut into lines, blocks and fences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import yaml

from skillsv.compile.draft import Draft
from skillsv.compile.frontmatter import Manifest, frontmatter_end, read_manifest
from skillsv.compile.markdown import LineTable, TopBlock, cut_lines, top_blocks
from skillsv.compile.options import CompileOptions
from skillsv.compile.units import unitize
from skillsv.model.skill import CompiledSkill, FileRole, SkillFile

_LARGEST = 2_000_000
"""Bytes of an auxiliary Markdown file beyond which its text is not checked: that is data, not writing."""

_OPENING = re.compile(
    r"^(?P<lead>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$"
)


class Remark(NamedTuple):
    """One thing a check has to say, and where. The table of checks adds code and severity."""

    message: str
    file: str
    line: int = 1


class Entry(NamedTuple):
    """One top-level key of the frontmatter: the line it stands on, and its value as YAML nodes."""

    key: str
    line: int
    node: yaml.Node

    @property
    def text(self) -> str | None:
        """The value if it is a scalar with something in it."""
        scalar = isinstance(self.node, yaml.ScalarNode) and self.node.tag != "tag:yaml.org,2002:null"
        return self.node.value.strip() or None if scalar else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block by its lines (0-based, `stop` exclusive, fence lines included)."""

    first: int
    stop: int
    mark: str
    info: str
    indent: int
    closed: bool


@dataclass(frozen=True, kw_only=True)
class Document:
    """One Markdown file of the skill."""

    path: str
    table: LineTable
    main: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, without their ends."""
        return self.table.texts

    @cached_property
    def body_start(self) -> int:
        """The number of lines that frontmatter takes."""
        return frontmatter_end(self.lines)

    @cached_property
    def blocks(self) -> tuple[TopBlock, ...]:
        """The top-level blocks below the frontmatter."""
        return tuple(top_blocks(self.lines, self.body_start))

    @cached_property
    def fences(self) -> tuple[Fence, ...]:
        """All fenced blocks, those inside list items and quotes included, in order."""
        return tuple(fence for block in self.blocks for fence in self._fences_of(block))

    def _fences_of(self, block: TopBlock) -> Iterator[Fence]:
        if block.form in {"code", "html", "heading", "table", "definition"}:
            return
        at = block.first
        while at < block.stop:
            line = self.lines[at]
            opening = _OPENING.match(line) if "```" in line or "~~~" in line else None
            if opening is None:
                at += 1
                continue
            stop, closed = self._end_of_fence(at, block.stop, opening["fence"], len(opening["lead"]))
            yield Fence(
                first=at,
                stop=stop,
                mark=opening["fence"],
                info=opening["info"].strip(),
                indent=len(opening["lead"]),
                closed=closed,
            )
            at = stop

    def _end_of_fence(self, first: int, limit: int, mark: str, indent: int) -> tuple[int, bool]:
        for index in range(first + 1, limit):
            line = self.lines[index].rstrip(" \t")
            run = line.lstrip(" \t>")
            # Four columns deeper than its beginning, a row of marks is code like the rest.
            if len(run) >= len(mark) and run == mark[0] * len(run) and len(line) - len(run) - indent <= 3:
                return index + 1, True
        return limit, False

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
    """A skill under the checks."""

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
    def manifest(self) -> Manifest:
        """The frontmatter as the compiler reads it."""
        end = self.main.body_start
        return read_manifest(self.main.lines[1 : end - 1]) if end else Manifest()

    @cached_property
    def entries(self) -> tuple[Entry, ...] | None:
        """The keys of the frontmatter; None where it is missing, cannot be read, or binds nobody (a single file).

        Composed, never constructed: no tag acts, no alias grows.
        """
        skill, end = self.compiled.skill, self.main.body_start
        if skill.single_file or not end or self.manifest.problem:
            return None
        node = yaml.compose(
            "\n".join(self.main.lines[1 : end - 1]), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        )
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        return tuple(Entry(str(key.value), key.start_mark.line + 2, value) for key, value in pairs)

    @cached_property
    def draft(self) -> Draft:
        """The skill between the passes, at block granularity: what the rules' own functions ask for."""
        return unitize(self.compiled.skill, CompileOptions())


def _document(file: SkillFile) -> Document:
    return Document(path=file.path, table=cut_lines(file.data or b""), main=file.role is FileRole.MAIN)


def _is_markdown_resource(file: SkillFile) -> bool:
    suits = file.role is FileRole.RESOURCE and file.path.lower().endswith((".md", ".markdown"))
    return suits and file.data is not None and file.size <= _LARGEST
