"""Renders a coalition into the files that an agent reads: rho(S) of the paper, for both operators."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from skillsv.errors import CoalitionError
from skillsv.model.coalition import Coalition, Operator, RenderedFile, Rendering
from skillsv.model.protocols import TokenCounter
from skillsv.model.skill import CompiledSkill
from skillsv.rendering.check import BLANK, KindCheck, filler_pattern, verify
from skillsv.rendering.document import Part, delete_absent, file_digest, join_parts, main_document, tree_digest
from skillsv.rendering.null_change import add_null_change
from skillsv.rendering.padding import Padder, find_filler
from skillsv.rendering.resources import Resources, is_text, render_unchanged
from skillsv.rendering.tokens import token_counter


class Renderer:
    """Renders coalitions of one compiled skill. All that does not depend on the coalition is computed once.

    Every rendering is checked against the original (unless `check=False`): surviving slices have their original bytes,
    only gaps or filler stand between them, and units that Markdown reads as another kind of block get a flag.

        renderer = Renderer(compiled)
        rendering = renderer.render(frozenset({compiled.trigger}), Operator.DELETE)
    """

    def __init__(
        self, compiled: CompiledSkill, *, counter: TokenCounter | None = None, filler: str = "blank", check: bool = True
    ) -> None:
        self.compiled = compiled
        self.filler = find_filler(filler)
        self.check = check
        self._counter = counter
        self._coalitions = Coalitions(compiled)
        self._document = main_document(compiled, self._coalitions.bits)
        self._main_file = render_unchanged(compiled.skill.file(compiled.skill.main))
        self._padder = Padder(self.filler, self._count)
        self._resources = Resources(compiled, self._coalitions.bits, self._padder)
        self._between = {Operator.DELETE: BLANK, Operator.PAD: filler_pattern(self.filler)}

    def render(self, coalition: Coalition, operator: Operator, null_change: int = 0) -> Rendering:
        """rho(S): the files. A coalition without units, or without any byte of a unit, has no files and no flags.

        `tokens` are those of the main file. Deletion does not count them; `count_tokens` does. `null_change` is the
        number of a change that means nothing (`null_change.py`); 0 is the rendering without one.
        """
        kept = self._coalitions.to_bits(coalition)
        files, flags = self._resources.render(kept, operator)
        parts, tokens = self._parts(kept, operator)
        main = join_parts(parts)
        if not coalition or not (main or self._resources.any_unit(files)):
            return self._make_rendering(coalition, operator, [], None, [])
        if operator is Operator.PAD and tokens != self.main_tokens:
            flags.append(f"padding-off-by:{self.main_tokens - (tokens or 0)}")
        if self.check:
            verify(self._document, kept, parts, main, self._between[operator])
            changed = self._kind_check.changed_units(parts, padded=operator is Operator.PAD)
            flags += [f"changed-kind:{unit.id}" for unit in self.compiled.units if unit.id in changed]
        if null_change:
            parts = add_null_change(parts, null_change, filler=self.filler, same_kinds=self._kind_check.keeps_kinds)
            main = join_parts(parts)
            tokens = None if tokens is None else self._count(main)
            flags.append(f"null-change:{null_change}")
        files.append(self._render_main(main))
        return self._make_rendering(coalition, operator, files, tokens, flags)

    def _make_rendering(
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
            return delete_absent(self._document, kept), None
        parts, missing = self._padder.pad_document(self._document, kept, self.main_tokens)
        return parts, self.main_tokens - missing

    def _render_main(self, data: bytes) -> RenderedFile:
        original = self._main_file
        if data == original.data:
            return original
        return RenderedFile(path=original.path, data=data, digest=file_digest(data), executable=original.executable)

    @cached_property
    def _kind_check(self) -> KindCheck:
        return KindCheck(self._document, self.compiled.trigger)

    @cached_property
    def counter(self) -> TokenCounter:
        """The token counter, loaded at first use."""
        return token_counter(self._counter or "o200k")

    def _count(self, data: bytes) -> int:
        return self.counter(data.decode("utf-8", errors="replace"))

    @cached_property
    def main_tokens(self) -> int:
        """The tokens of the main file as the author wrote it."""
        return self._count(self._document.data)

    @cached_property
    def total_tokens(self) -> int:
        """The tokens of all files of units as the author wrote them, without binary files."""
        return self.count_tokens(self.render(self.compiled.everything, Operator.DELETE))

    def count_tokens(self, rendering: Rendering) -> int:
        """The tokens of the text files in a rendering that belong to units."""
        owned = [file for file in rendering.files if file.path == rendering.main or self._resources.any_unit([file])]
        return sum(self._count(file.data) for file in owned if is_text(file.data))

    def tokens_of(self, unit_id: str) -> int:
        """The tokens of the text of one unit; 0 for a binary file."""
        unit = self.compiled.unit[unit_id]
        total = 0
        for extent in unit.extents:
            data = self.compiled.skill.file(extent.file).data
            if extent.file == self._document.path or is_text(data):
                total += self._count((data or b"")[extent.span.start : extent.span.end])
        return total


class Coalitions:
    """Coalitions of one skill as bits of an integer, one bit per unit; the members of a composite share its bit."""

    def __init__(self, compiled: CompiledSkill) -> None:
        self.compiled = compiled
        self.bits: dict[str, int] = {}
        for number, unit in enumerate(compiled.units):
            for name in (unit.id, *unit.members):
                self.bits.setdefault(name, 1 << number)
        self._needs = {unit: self._mask(needs) for unit, needs in compiled.needs.items()}

    def _mask(self, units: Iterable[str]) -> int:
        mask = 0
        for unit in units:
            mask |= self.bits[unit]
        return mask

    def to_bits(self, coalition: Coalition) -> int:
        """The bits of the coalition. Raises CoalitionError for unknown units and for needed units that are missing."""
        require_known(self.compiled, coalition)
        kept = self._mask(coalition)
        if any(self._needs[unit] & ~kept for unit in coalition):
            raise self._not_closed(coalition)
        return kept

    def _not_closed(self, coalition: Coalition) -> CoalitionError:
        missing = self.compiled.closure(coalition) - coalition
        names = [unit.id for unit in self.compiled.units if unit.id in missing]
        return CoalitionError(
            f"The coalition is not closed: needed but not kept: {', '.join(names)}.",
            hint="Keep these, too, or drop what needs them.",
        )


def require_known(compiled: CompiledSkill, units: Coalition) -> None:
    """Raise CoalitionError for names that are not units of the skill."""
    unknown = sorted(units - compiled.everything)
    if unknown:
        hint = "List the units with 'skillsv compile'."
        raise CoalitionError(f"The skill has no unit {', '.join(unknown)}.", hint=hint)
