"""R4 DEF-USE: a unit that uses a symbol needs the unit that defines it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.compiler.paths import module_resource
from skillsv.compiler.symbols import Definitions, Language, language_of, language_of_file
from skillsv.compiler.symbols.definitions import first_lines
from skillsv.model.skill import Edge, UnitKind

_INLINE = re.compile(r"(?<!`)`([A-Z][A-Z0-9_]+|[A-Za-z_]\w*\(\))`(?!`)")
_MEMBER_TAG = re.compile(r"<\w+\.\w")
"""A tag that is named by a member: `<Menu.Item>`."""

_WORD = re.compile(r"\w+")
_FAMILIES = ("python", "shell", "javascript")
"""The language families in which the name of inline code is looked up, in this order."""

_ENTRY_POINT = "main"
"""A name that every script may define, so it identifies none of them."""


class _Code(NamedTuple):
    """One piece of code: its unit, its language, its first line in the file, and what it defines."""

    unit: DraftUnit
    language: Language
    text: str
    line: int
    definitions: Definitions


class _Definition(NamedTuple):
    """Where a name is defined: the unit, the line in its file, and whether what it names may have members."""

    unit: DraftUnit
    line: int
    has_members: bool = True


class _Use(NamedTuple):
    """Where a name is used, and the language families that may define it. `members`: it names tags by its members."""

    unit: DraftUnit
    name: str
    line: int
    families: tuple[str, ...]
    members: bool = False


def find_def_use_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from uses in code and inline code to definitions in code blocks and code files, and for imports."""
    return _find_edges(draft, read_tags=True)


def find_early_def_use_edges(draft: Draft) -> Iterator[Edge] | None:
    """The edges of version 1, in which `<Menu.Item>` needs any `Menu`, also a function; None where no code has such."""
    if any(_MEMBER_TAG.search(unit.text) for unit in draft.readable):
        return _find_edges(draft, read_tags=False)
    return None


def _find_edges(draft: Draft, *, read_tags: bool) -> Iterator[Edge]:
    read_documents = any(language_of_file(path) for path in draft.resources)
    codes = [code for unit in draft.readable for code in _codes(unit, read_documents=read_documents)]
    yield from _imports(draft, codes)
    table = _definition_table(draft, codes)
    pairs: dict[tuple[str, str], dict[str, tuple[_Use, _Definition]]] = {}
    for use in _uses(draft, codes, table, read_tags=read_tags):
        target = _resolve(use, table, _file_scope(use.unit, draft))
        if target is not None:
            pairs.setdefault((use.unit.id, target.unit.id), {}).setdefault(use.name, (use, target))
    yield from map(_edge, pairs.values())


def _edge(symbols: Mapping[str, tuple[_Use, _Definition]]) -> Edge:
    """One edge for two units, with every symbol that connects them; it points at the first symbol."""
    use, target = next(iter(symbols.values()))
    evidence = "; ".join(
        f"uses {name} (line {name_use.line}), defined in {definition.unit.file}:{definition.line}"
        for name, (name_use, definition) in symbols.items()
    )
    return make_edge("R4", use.unit, target.unit, evidence, (use.line, target.line))


def _codes(unit: DraftUnit, *, read_documents: bool) -> Iterator[_Code]:
    """The code of a unit: all of a code file, else the fenced blocks (of a Markdown resource, only for its imports)."""
    file_language = language_of_file(unit.file) if unit.kind is UnitKind.RESOURCE else None
    if file_language is not None:
        yield _Code(unit, file_language, unit.text, 1, file_language.define(unit.text))
    elif unit.kind is not UnitKind.RESOURCE or (read_documents and unit.file.lower().endswith(".md")):
        for block in unit.code:
            language = language_of(block.language)
            if language is not None:
                yield _Code(unit, language, block.code, unit.lines.first + block.line, language.define(block.code))


def _imports(draft: Draft, codes: list[_Code]) -> Iterator[Edge]:
    for code in codes if draft.resources else ():
        for written, line in code.definitions.modules:
            target = module_resource(written, code.language.family, code.unit.file, draft.resources)
            if target is not None and target.id != code.unit.id:
                evidence = f"imports {written} (line {code.line + line}), which is {target.file}"
                yield make_edge("R4", code.unit, target, evidence, (code.line + line, 1))


class _DefinitionTable:
    """Definitions by language family, name and scope (a heading for plain variables, or a file), in document order."""

    def __init__(self) -> None:
        self._definitions: dict[tuple[str, str, int | None], list[_Definition]] = {}
        self.words: set[tuple[str, str]] = set()

    def add(self, family: str, name: str, scope: int | None, definition: _Definition) -> None:
        self._definitions.setdefault((family, name, scope), []).append(definition)
        self.words.add((family, name))

    def of(self, family: str, name: str, scope: int | None) -> list[_Definition]:
        return self._definitions.get((family, name, scope), [])


def _file_scope(unit: DraftUnit, draft: Draft) -> int | None:
    """The scope of what a unit defines for others: everything (None), or its own reference file."""
    if unit.kind is UnitKind.RESOURCE or unit.file == draft.skill.main:
        return None
    return -draft.files[unit.file].position


def _definition_table(draft: Draft, codes: list[_Code]) -> _DefinitionTable:
    table = _DefinitionTable()
    for code in codes:
        if code.unit.kind is UnitKind.RESOURCE and language_of_file(code.unit.file) is None:
            continue  # the code in a Markdown resource is an example: it defines nothing for other units
        family = code.language.family
        shared = _file_scope(code.unit, draft)
        with_members = code.definitions.with_members
        for name, line in code.definitions.names.items():
            if name != _ENTRY_POINT:
                table.add(family, name, shared, _Definition(code.unit, code.line + line, name in with_members))
        if code.unit.kind is not UnitKind.RESOURCE:
            for name, line in code.definitions.variables.items():
                definition = _Definition(code.unit, code.line + line, name in with_members)
                table.add(family, name, code.unit.heading, definition)
    return table


def _uses(draft: Draft, codes: list[_Code], table: _DefinitionTable, *, read_tags: bool) -> Iterator[_Use]:
    """Uses in the main file of names that something defines; code that mentions none of them is not parsed again."""
    if not table.words:
        return
    for code in codes:
        family = code.language.family
        words = {word for word in _WORD.findall(code.text) if (family, word) in table.words}
        if code.unit.kind is not UnitKind.RESOURCE and words:
            free = code.language.use(code.text) & words
            containers = code.language.containers(code.text) if read_tags and free else frozenset[str]()
            for name, line in first_lines(code.text, free).items():
                yield _Use(code.unit, name, code.line + line, (family,), name in containers)
    for unit in draft.body:
        prose = unit.prose
        for match in _INLINE.finditer(prose) if "`" in prose else ():
            yield _Use(unit, match[1].removesuffix("()"), unit.line_of(match.start(), prose), _FAMILIES)


def _resolve(use: _Use, table: _DefinitionTable, scope: int | None) -> _Definition | None:
    """The definition that a reader would take: the nearest above, else the first below, else that of the only file.

    A unit inside a reference file sees the definitions of its own file (`scope`) and those of programs.
    """
    for family in use.families:
        shared = table.of(family, use.name, None)
        if scope is not None:
            programs = [definition for definition in shared if definition.unit.kind is UnitKind.RESOURCE]
            is_one = len({definition.unit.id for definition in programs}) == 1
            shared = table.of(family, use.name, scope) or (programs if is_one else [])
        near = table.of(family, use.name, use.unit.heading) if len(use.families) == 1 else []
        if use.members:
            shared, near = ([item for item in items if item.has_members] for items in (shared, near))
        if any(_is_defined_in(definitions, use.unit) for definitions in (shared, near)):
            return None
        above = [
            definition for definition in (_last_above(shared, use.unit), _last_above(near, use.unit)) if definition
        ]
        if above:
            return max(above, key=lambda definition: (definition.unit.position, definition.line))
        if shared and shared[0].unit.kind is not UnitKind.RESOURCE:
            return shared[0]
        if shared and shared[0].unit.id == shared[-1].unit.id:
            return shared[0]
    return None


def _last_above(definitions: list[_Definition], unit: DraftUnit) -> _Definition | None:
    """The last definition above the unit. Resources come after the main file, so none of them is above."""
    index = bisect_left(definitions, unit.position, key=lambda definition: definition.unit.position)
    return definitions[index - 1] if index else None


def _is_defined_in(definitions: list[_Definition], unit: DraftUnit) -> bool:
    index = bisect_left(definitions, unit.position, key=lambda definition: definition.unit.position)
    return index < len(definitions) and definitions[index].unit.id == unit.id
