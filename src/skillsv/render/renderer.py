"""Turn a coalition into the files an agent really reads: rho(S) for both operators."""

from __future__ import annotations

from functools import cached_property

from skillsv.model.coalition import Coalition, Operator, RenderedFile, Rendering
from skillsv.model.protocols import TokenCounter
from skillsv.model.skill import CompiledSkill
from skillsv.render.coalitions import Coalitions
from skillsv.render.delete import deleted
from skillsv.render.document import main_document
from skillsv.render.fillers import filler_named
from skillsv.render.pad import Padder
from skillsv.render.parts import Part, joined
from skillsv.render.reparse import KindWatch
from skillsv.render.resources import Resources, is_text, unchanged
from skillsv.render.selfcheck import BLANK, filler_pattern, verify
from skillsv.render.tokens import token_counter
from skillsv.render.tree import file_digest, tree_digest


class Renderer:
    """Renders coalitions of one compiled skill; what does not depend on the coalition is worked out once.

    Every rendering is checked against the original as it is made (`check=False` leaves that out): survivors byte for
    byte, nothing added but gaps or filler, and flags for survivors that Markdown now reads as something else.

        renderer = Renderer(compiled)
        rendering = renderer.render(frozenset({compiled.trigger}), Operator.DELETE)
    """

    def __init__(
        self, compiled: CompiledSkill, *, counter: TokenCounter | None = None, filler: str = "blank", check: bool = True
    ) -> None:
        self.compiled = compiled
        self.filler = filler_named(filler)
        self.check = check
        self._counter = counter
        self._coalitions = Coalitions(compiled)
        self._document = main_document(compiled, self._coalitions.bits)
        self._main_file = unchanged(compiled.skill.file(compiled.skill.main))
        self._padder = Padder(self.filler, self._count)
        self._resources = Resources(compiled, self._coalitions.bits, self._padder)
        self._between = {Operator.DELETE: BLANK, Operator.PAD: filler_pattern(self.filler)}

    def render(self, coalition: Coalition, operator: Operator) -> Rendering:
        """rho(S): the tree of files. No unit, or no byte of any unit, is the bare agent: no files, no flags.

        `tokens` are those of the main file; deletion leaves them uncounted (`count_tokens` does it when asked).
        """
        kept = self._coalitions.kept(coalition)
        files, flags = self._resources.rendered(kept, operator)
        parts, tokens = self._parts(kept, operator)
        main = joined(parts)
        if not coalition or not (main or self._resources.any_unit(files)):
            return self._rendering(coalition, operator, [], None, [])
        if operator is Operator.PAD and tokens != self.main_tokens:
            flags.append(f"padding-off-by:{self.main_tokens - (tokens or 0)}")
        if self.check:
            verify(self._document, kept, parts, main, self._between[operator])
            changed = self._watch.changed(parts, padded=operator is Operator.PAD)
            flags += [f"changed-kind:{unit.id}" for unit in self.compiled.units if unit.id in changed]
        files.append(self._rendered_main(main))
        return self._rendering(coalition, operator, files, tokens, flags)

    def _rendering(
        self, coalition: Coalition, operator: Operator, files: list[RenderedFile], tokens: int | None, flags: list[str]
    ) -> Rendering:
        files.sort(key=lambda file: file.path)
        return Rendering(
            coalition=coalition,
            operator=operator,
            skill_name=self.compiled.skill.name,
            main=self._document.path,
            files=tuple(files),
            digest=tree_digest(files),
            tokens=tokens,
            flags=tuple(flags),
        )

    def _parts(self, kept: int, operator: Operator) -> tuple[list[Part], int | None]:
        if operator is Operator.DELETE:
            return deleted(self._document, kept), None
        parts, off = self._padder.document(self._document, kept, self.main_tokens)
        return parts, self.main_tokens - off

    def _rendered_main(self, data: bytes) -> RenderedFile:
        original = self._main_file
        if data == original.data:
            return original
        return RenderedFile(path=original.path, data=data, digest=file_digest(data), executable=original.executable)

    @cached_property
    def _watch(self) -> KindWatch:
        return KindWatch(self._document, self.compiled.trigger)

    # Tokens

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts tokens; loaded when it is first needed."""
        return token_counter(self._counter or "o200k")

    def _count(self, data: bytes) -> int:
        return self.counter(data.decode("utf-8", errors="replace"))

    @cached_property
    def main_tokens(self) -> int:
        """The tokens of the main file as the author wrote it."""
        return self._count(self._document.data)

    @cached_property
    def total_tokens(self) -> int:
        """The tokens of all units' files as the author wrote them; binaries count nothing."""
        return self.count_tokens(self.render(self.compiled.everything, Operator.DELETE))

    def count_tokens(self, rendering: Rendering) -> int:
        """The tokens of a rendering's text files that belong to units."""
        owned = [file for file in rendering.files if file.path == rendering.main or self._resources.any_unit([file])]
        return sum(self._count(file.data) for file in owned if is_text(file.data))

    def tokens_of(self, unit_id: str) -> int:
        """The tokens of one unit's own text; a binary resource has none."""
        unit = self.compiled.unit[unit_id]
        total = 0
        for extent in unit.extents:
            data = self.compiled.skill.file(extent.file).data
            if extent.file == self._document.path or is_text(data):
                total += self._count((data or b"")[extent.span.start : extent.span.end])
        return total
