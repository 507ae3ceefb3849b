"""Renders a coalition into the files that an agent reads: rho(S) of the paper, for both operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from operator import or_

from skillsv.errors import CoalitionError
from skillsv.model.coalition import Coalition, Operator, RenderedFile, Rendering
from skillsv.model.protocols import TokenCounter
from skillsv.model.skill import CompiledSkill
from skillsv.rendering.document import tree_digest
from skillsv.rendering.documents import DocumentRenderer, RenderedDocument
from skillsv.rendering.padding import Padder, find_filler
from skillsv.rendering.resources import Resources, is_text
from skillsv.rendering.tokens import NamedCounter, token_counter


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
        self._padder = Padder(self.filler, self._count)
        self._documents = {
            path: DocumentRenderer(compiled, path, self._coalitions.bits, self._padder, self._count_text)
            for path in (compiled.skill.main, *compiled.pointers)
        }
        self._resources = Resources(compiled, self._coalitions.bits, self._padder)
        self._tokens_left: dict[int, int] = {}

    def render(
        self, coalition: Coalition, operator: Operator, null_change: int = 0, *, check: bool = True
    ) -> Rendering:
        """rho(S): the files. A coalition without units, or without any byte of a unit, has no files and no flags.

        `tokens` are those of the main file. Deletion does not count them; `count_tokens` does. `null_change` is the
        number of a change that means nothing (`null_change.py`); 0 is the rendering without one. `check=False` is for
        counting: the files are the same, but not compared with the original, and flags about kinds are left out.
        """
        kept = self._coalitions.to_bits(coalition)
        files, flags = self._resources.render(kept, operator)
        main, *others = self._render_documents(kept, operator, null_change, check=check and self.check)
        files += [document.file for document in others]
        if not coalition or not (main.file.data or self._resources.any_unit(files)):
            return self._make_rendering(coalition, operator, [], None, [])
        missing = sum(document.missing_tokens for document in (main, *others))
        if missing:
            flags.append(f"padding-off-by:{missing}")
        changed = main.changed.union(*(document.changed for document in others))
        flags += [f"changed-kind:{unit.id}" for unit in self.compiled.units if unit.id in changed]
        if null_change:
            flags.append(f"null-change:{null_change}")
        files.append(main.file)
        return self._make_rendering(coalition, operator, files, main.tokens, flags)

    def _render_documents(
        self, kept: int, operator: Operator, null_change: int, *, check: bool
    ) -> list[RenderedDocument]:
        """The main file, then the other files that are cut into units; padding leaves every file in its place."""
        main = self.compiled.skill.main
        return [
            document.render(kept, operator, check=check, null_change=null_change if path == main else 0)
            for path, document in self._documents.items()
            if path == main or operator is Operator.PAD or document.is_present(kept)
        ]

    def _make_rendering(
        self, coalition: Coalition, operator: Operator, files: list[RenderedFile], tokens: int | None, flags: list[str]
    ) -> Rendering:
        files.sort(key=lambda file: file.path)
        return Rendering(
            coalition=coalition,
            operator=operator,
            skill_name=self.compiled.skill.name,
            main=self.compiled.skill.main,
            files=tuple(files),
            digest=tree_digest(files),
            tokens=tokens,
            flags=tuple(flags),
        )

    def document(self, path: str) -> DocumentRenderer:
        """The renderer of one file that is cut into units."""
        return self._documents[path]

    @cached_property
    def counter(self) -> TokenCounter:
        """The token counter, loaded at first use."""
        return token_counter(self._counter or "o200k")

    def _count(self, data: bytes) -> int:
        return self.counter(data.decode("utf-8", errors="replace"))

    def _count_text(self, text: str) -> int:
        return self.counter(text)

    @cached_property
    def main_tokens(self) -> int:
        """The tokens of the main file as the author wrote it."""
        return self._documents[self.compiled.skill.main].tokens

    @cached_property
    def total_tokens(self) -> int:
        """The tokens of all files of units as the author wrote them, without binary files."""
        return self._count_rendered(self.compiled.everything)

    def count_tokens(self, rendering: Rendering) -> int:
        """The tokens of the text files in a rendering that belong to units."""
        owned = [file for file in rendering.files if file.path == rendering.main or self._resources.any_unit([file])]
        return sum(self._count(file.data) for file in owned if is_text(file.data))

    def tokens_left(self, coalition: Coalition) -> int:
        """The tokens of what a coalition renders to by deletion. They are counted once."""
        kept = self._coalitions.to_bits(coalition)
        if kept not in self._tokens_left:
            count = self._sum_tokens
            self._tokens_left[kept] = self._count_rendered(coalition) if count is None else count(kept)
        return self._tokens_left[kept]

    def _count_rendered(self, coalition: Coalition) -> int:
        return self.count_tokens(self.render(coalition, Operator.DELETE, check=False))

    @cached_property
    def _sum_tokens(self) -> Callable[[int], int] | None:
        """Sums up the tokens of slices, without rendering; None where the counter needs the text of all of them."""
        from skillsv.rendering.token_sums import DocumentTokens, SkillTokens, can_sum  # loads numpy

        by_lines = isinstance(self.counter, NamedCounter) and self.counter.by_lines
        documents = [
            renderer.document
            for path, renderer in self._documents.items()
            if path == self.compiled.skill.main or self._resources.is_of_unit(path)
        ]
        if not by_lines or not all(map(can_sum, documents)):
            return None
        units = len(self.compiled.units)
        return SkillTokens(
            (DocumentTokens(document, units, self._count) for document in documents),
            self._resources.texts_of_units(),
            self._count,
        )

    def tokens_of(self, unit_id: str) -> int:
        """The tokens of the text of one unit; 0 for a binary file."""
        unit = self.compiled.unit[unit_id]
        total = 0
        for extent in unit.extents:
            data = self.compiled.skill.file(extent.file).data
            if extent.file in self._documents or is_text(data):
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
        self._all = sum(map(self.bits.__getitem__, compiled.everything))
        self._needing = self._group_by_needs()

    def _group_by_needs(self) -> list[tuple[int, int]]:
        """Sets of needed units, each with all units that need just this set, as bits."""
        needing: dict[int, int] = {}
        for unit, needs in self.compiled.needs.items():
            mask = reduce(or_, map(self.bits.__getitem__, needs), 0)
            needing[mask] = needing.get(mask, 0) | self.bits[unit]
        return list(needing.items())

    def to_bits(self, coalition: Coalition) -> int:
        """The bits of the coalition. Raises CoalitionError for unknown units and for needed units that are missing."""
        absent = self.compiled.everything - coalition
        if len(coalition) + len(absent) != len(self.compiled.everything):
            require_known(self.compiled, coalition)
        # Adding up few large numbers is faster: those of the units that are absent, if they are fewer.
        few = absent if len(absent) < len(coalition) else coalition
        number = sum(map(self.bits.__getitem__, few))
        kept = self._all - number if few is absent else number
        if any(needs & ~kept and units & kept for needs, units in self._needing):
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
    if not units <= compiled.everything:
        unknown = sorted(units - compiled.everything)
        hint = "List the units with 'skillsv compile'."
        raise CoalitionError(f"The skill has no unit {', '.join(unknown)}.", hint=hint)
