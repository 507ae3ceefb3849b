"""Renders the Markdown files that are cut into units: the main file, and linked files beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

from skillsv.model.coalition import Operator, RenderedFile
from skillsv.model.skill import CompiledSkill
from skillsv.rendering.check import BLANK, KindCheck, filler_pattern, verify
from skillsv.rendering.document import Part, cut_document, delete_absent, file_digest, join_parts
from skillsv.rendering.null_change import add_null_change
from skillsv.rendering.padding import Padder
from skillsv.rendering.resources import render_unchanged


class RenderedDocument(NamedTuple):
    """A document as rendered: its bytes, its tokens where they were counted, and the units that changed kind."""

    file: RenderedFile
    tokens: int | None
    missing_tokens: int
    changed: frozenset[str]


class DocumentRenderer:
    """Renders one Markdown file. All that does not depend on the coalition is computed once."""

    def __init__(
        self, compiled: CompiledSkill, path: str, bits: Mapping[str, int], padder: Padder, count: Callable[[str], int]
    ) -> None:
        self.document = cut_document(compiled, path, bits)
        self._original = render_unchanged(compiled.skill.file(path))
        self._frontmatter = frozenset(unit.id for unit in compiled.units if unit.form == "frontmatter")
        self._padder = padder
        self._count = count
        self._between = {Operator.DELETE: BLANK, Operator.PAD: filler_pattern(padder.filler)}

    def parts(self, kept: int, operator: Operator) -> tuple[list[Part], int]:
        """The parts of the rendered document, and the tokens that padding could not place."""
        if operator is Operator.DELETE:
            return delete_absent(self.document, kept), 0
        return self._padder.pad_document(self.document, kept, self.tokens)

    def is_present(self, kept: int) -> bool:
        """Whether a coalition holds a unit of the file, or one that leads to it."""
        return bool(kept & self.document.scope)

    def render(self, kept: int, operator: Operator, *, check: bool, null_change: int = 0) -> RenderedDocument:
        """The file for the units in `kept`, with its null change of that number (0: none)."""
        parts, missing = self.parts(kept, operator)
        data = join_parts(parts)
        changed: set[str] = set()
        if check:
            verify(self.document, kept, parts, data, self._between[operator])
            changed = self.kind_check.changed_units(parts, padded=operator is Operator.PAD)
        tokens = None if operator is Operator.DELETE else self.tokens - missing
        if null_change:
            parts = add_null_change(
                parts, null_change, filler=self._padder.filler, same_kinds=self.kind_check.keeps_kinds
            )
            data = join_parts(parts)
            tokens = None if tokens is None else self._count(data.decode("utf-8", errors="replace"))
        return RenderedDocument(self._file(data), tokens, missing, frozenset(changed))

    def _file(self, data: bytes) -> RenderedFile:
        original = self._original
        if data == original.data:
            return original
        return RenderedFile(path=original.path, data=data, digest=file_digest(data), executable=original.executable)

    @cached_property
    def kind_check(self) -> KindCheck:
        """Finds units that Markdown reads as another kind of block."""
        return KindCheck(self.document, self._frontmatter)

    @cached_property
    def tokens(self) -> int:
        """The tokens of the file as the author wrote it."""
        return self._count(self.document.data.decode("utf-8", errors="replace"))
