"""R4 DEF-USE: a unit that uses a symbol needs the unit that defines it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillsv.compile.draft import Draft, DraftUnit, edge
from skillsv.compile.references import module_resource
from skillsv.compile.symbols import Definitions, Language, language_of, language_of_file
from skillsv.compile.symbols.definitions import first_lines
from skillsv.model.skill import Edge, UnitKind

_INLINE = re.compile(r"(?<!`)`([A-Z][A-Z0-9_]+|[A-Za-z_]\w*\(\))`(?!`)")
_WORD = re.compile(r"\w+")
_FAMILIES = ("python", "shell", "javascript")
_ENTRY = "main"  # every script has one: it names nothing


class _Code(NamedTuple):
    """One piece of readable code: whose it is, where it starts in the file, what it defines."""

    unit: DraftUnit
    language: Language
    text: str
    line: int
    found: Definitions


class _Definition(NamedTuple):
    unit: DraftUnit
    line: int


class _Use(NamedTuple):
    unit: DraftUnit
    name: str
    line: int
    families: tuple[str, ...]


def def_use(draft: Draft) -> Iterator[Edge]:
    """Edges from uses in code and inline code to definitions in code blocks and code files, and for imports."""
    read_documents = any(language_of_file(path) for path in draft.resources)
    codes = [code for unit in draft.readable for code in _codes(unit, read_documents=read_documents)]
    yield from _imports(draft, codes)
    table = _table(codes)
    pairs: dict[tuple[str, str], dict[str, tuple[_Use, _Definition]]] = {}
    for use in _uses(draft, codes, table):
        target = _resolve(use, table)
        if target is not None:
            pairs.setdefault((use.unit.id, target.unit.id), {}).setdefault(use.name, (use, target))
    yield from map(_edge, pairs.values())


def _edge(symbols: Mapping[str, tuple[_Use, _Definition]]) -> Edge:
    """One edge for two units, with every symbol that joins them; it points at the first."""
    use, target = next(iter(symbols.values()))
    evidence = "; ".join(
        f"uses {name} (line {one.line}), defined in {other.unit.file}:{other.line}"
        for name, (one, other) in symbols.items()
    )
    return edge("R4", use.unit, target.unit, evidence, (use.line, target.line))


def _codes(unit: DraftUnit, *, read_documents: bool) -> Iterator[_Code]:
    """The code of a unit: the whole file if that is code, else its fences (of a document, only for its imports)."""
    whole = language_of_file(unit.file) if unit.kind is UnitKind.RESOURCE else None
    if whole is not None:
        yield _Code(unit, whole, unit.text, 1, whole.define(unit.text))
    elif unit.kind is not UnitKind.RESOURCE or (read_documents and unit.file.lower().endswith(".md")):
        for block in unit.code:
            language = language_of(block.language)
            if language is not None:
                yield _Code(unit, language, block.code, unit.lines.first + block.line, language.define(block.code))


def _imports(draft: Draft, codes: list[_Code]) -> Iterator[Edge]:
    for code in codes if draft.resources else ():
        for written, line in code.found.modules:
            target = module_resource(written, code.language.family, code.unit.file, draft.resources)
            if target is not None and target.id != code.unit.id:
                evidence = f"imports {written} (line {code.line + line}), which is {target.file}"
                yield edge("R4", code.unit, target, evidence, (code.line + line, 1))


class _Table:
    """Definitions by language family, name and scope (a heading for plain variables), in document order."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int | None], list[_Definition]] = {}
        self.words: set[tuple[str, str]] = set()

    def add(self, family: str, name: str, scope: int | None, definition: _Definition) -> None:
        self._found.setdefault((family, name, scope), []).append(definition)
        self.words.add((family, name))

    def of(self, family: str, name: str, scope: int | None) -> list[_Definition]:
        return self._found.get((family, name, scope), [])


def _table(codes: list[_Code]) -> _Table:
    table = _Table()
    for code in codes:
        if code.unit.kind is UnitKind.RESOURCE and language_of_file(code.unit.file) is None:
            continue  # the examples in a reference define nothing for others
        family = code.language.family
        for name, line in code.found.names.items():
            if name != _ENTRY:
                table.add(family, name, None, _Definition(code.unit, code.line + line))
        if code.unit.kind is not UnitKind.RESOURCE:
            for name, line in code.found.variables.items():
                table.add(family, name, code.unit.heading, _Definition(code.unit, code.line + line))
    return table


def _uses(draft: Draft, codes: list[_Code], table: _Table) -> Iterator[_Use]:
    """Uses in the main file of names that something defines; code that mentions none of them is not parsed again."""
    if not table.words:
        return
    for code in codes:
        family = code.language.family
        words = {word for word in _WORD.findall(code.text) if (family, word) in table.words}
        if code.unit.kind is not UnitKind.RESOURCE and words:
            free = code.language.use(code.text) & words
            for name, line in first_lines(code.text, free).items():
                yield _Use(code.unit, name, code.line + line, (family,))
    for unit in draft.body:
        prose = unit.prose
        for match in _INLINE.finditer(prose) if "`" in prose else ():
            yield _Use(unit, match[1].removesuffix("()"), unit.line(match.start(), prose), _FAMILIES)


def _resolve(use: _Use, table: _Table) -> _Definition | None:
    """The definition that a reader would take: the nearest above, else the first below, else the only file's."""
    for family in use.families:
        shared = table.of(family, use.name, None)
        near = table.of(family, use.name, use.unit.heading) if len(use.families) == 1 else []
        above = [one for one in (_last_before(shared, use.unit), _last_before(near, use.unit)) if one is not None]
        if any(_defines_itself(found, use.unit) for found in (shared, near)):
            return None
        if above:
            return max(above, key=lambda one: (one.unit.place, one.line))
        if shared and shared[0].unit.kind is not UnitKind.RESOURCE:
            return shared[0]
        if shared and shared[0].unit.id == shared[-1].unit.id:
            return shared[0]
    return None


def _last_before(found: list[_Definition], unit: DraftUnit) -> _Definition | None:
    """The last definition above the unit. Files come after the whole body, so none of them is above."""
    at = bisect_left(found, unit.place, key=lambda one: one.unit.place)
    return found[at - 1] if at else None


def _defines_itself(found: list[_Definition], unit: DraftUnit) -> bool:
    at = bisect_left(found, unit.place, key=lambda one: one.unit.place)
    return at < len(found) and found[at].unit.id == unit.id
