"""R4 DEF-USE: a unit that uses a symbol needs the unit that defines it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit, make_edge
from skillsv.compiler.paths import module_resource
from skillsv.compiler.symbols import Definitions, Language, language_of, language_of_file
from skillsv.compiler.symbols.definitions import CONSTANT, first_lines
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
    """Where a name is defined: the unit, the line in its file and its text.

    `has_members`: what it names may have members. `is_variable`: only later units of the same section may use it.
    """

    unit: DraftUnit
    line: int
    text: str
    has_members: bool
    is_variable: bool


class _Use(NamedTuple):
    """Where a name is used, and the language families that may define it. `members`: it names tags by its members."""

    unit: DraftUnit
    name: str
    line: int
    families: tuple[str, ...]
    members: bool = False

    @property
    def is_inline(self) -> bool:
        """Whether it is inline code of the prose; its language is unknown."""
        return len(self.families) > 1


def find_def_use_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from uses in code and inline code to definitions in code blocks and code files, and for imports.

    Sections of a document often hold examples that are independent of each other and share names. So a definition in
    another section counts only where the name has no other one, and functions and classes only for what follows them.
    """
    return _find_edges(draft, early=False)


def find_early_def_use_edges(draft: Draft) -> Iterator[Edge] | None:
    """The edges of version 1: the nearest definition above counts, else the first below, in whatever section.

    There `<Menu.Item>` needs any `Menu`, also a function. None where both versions give the same.
    """
    has_tags = any(_MEMBER_TAG.search(unit.text) for unit in draft.readable)
    if has_tags or sum(bool(unit.code) for unit in draft.body) > 1:
        return _find_edges(draft, early=True)
    return None


def _find_edges(draft: Draft, *, early: bool) -> Iterator[Edge]:
    read_documents = any(language_of_file(path) for path in draft.resources)
    codes = [code for unit in draft.readable for code in _codes(unit, read_documents=read_documents)]
    yield from _imports(draft, codes)
    table = _definition_table(draft, codes)
    pairs: dict[tuple[str, str], dict[str, tuple[_Use, _Definition]]] = {}
    uses = list(_uses(draft, codes, table, read_tags=not early))
    for use in uses:
        table.add_use(use)
    for use in uses:
        target = _resolve_early(use, table, _file_scope(use.unit, draft)) if early else _resolve(use, table, draft)
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
        self._in_documents: dict[tuple[str, str, str], list[_Definition]] = {}
        self._uses_in_code: dict[tuple[str, str, str], list[DraftUnit]] = {}
        self.words: set[tuple[str, str]] = set()

    def add(self, family: str, name: str, scope: int | None, definition: _Definition) -> None:
        self._definitions.setdefault((family, name, scope), []).append(definition)
        self.words.add((family, name))
        if definition.unit.kind is not UnitKind.RESOURCE:
            self._in_documents.setdefault((family, name, definition.unit.file), []).append(definition)

    def add_use(self, use: _Use) -> None:
        if not use.is_inline:
            self._uses_in_code.setdefault((use.families[0], use.name, use.unit.file), []).append(use.unit)

    def of(self, family: str, name: str, scope: int | None) -> list[_Definition]:
        return self._definitions.get((family, name, scope), [])

    def in_document(self, family: str, name: str, file: str) -> list[_Definition]:
        """All definitions by units of a Markdown file, variables included."""
        return self._in_documents.get((family, name, file), [])

    def in_programs(self, family: str, name: str) -> list[_Definition]:
        """The definitions by code files."""
        return [item for item in self.of(family, name, None) if item.unit.kind is UnitKind.RESOURCE]

    def is_used_before(self, family: str, name: str, definition: _Definition) -> bool:
        """Whether code of another section uses the name before it is defined: then examples use it freely."""
        target = definition.unit
        users = self._uses_in_code.get((family, name, target.file), [])
        return any(unit.position < target.position and unit.heading != target.heading for unit in users)


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
        for name, line in code.definitions.names.items():
            if name != _ENTRY_POINT:
                table.add(family, name, shared, _make_definition(code, name, line, is_variable=False))
        if code.unit.kind is not UnitKind.RESOURCE:
            for name, line in code.definitions.variables.items():
                definition = _make_definition(code, name, line, is_variable=True)
                table.add(family, name, code.unit.heading, definition)
    return table


def _make_definition(code: _Code, name: str, line: int, *, is_variable: bool) -> _Definition:
    text = code.text.split("\n")[line].strip()
    return _Definition(code.unit, code.line + line, text, name in code.definitions.with_members, is_variable)


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


def _resolve(use: _Use, table: _DefinitionTable, draft: Draft) -> _Definition | None:
    """The definition that the author means, or None where that is unclear.

    It is the nearest one above in the unit's own section or one around it. Else it is the only one of the document, as
    `_find_only_definition` says, or that of the only code file.
    """
    for family in use.families:
        definitions = table.in_document(family, use.name, use.unit.file)
        programs = table.in_programs(family, use.name)
        if use.members:
            definitions, programs = ([item for item in items if item.has_members] for items in (definitions, programs))
        if use.is_inline:
            definitions = [item for item in definitions if not item.is_variable]
        if _is_defined_in(definitions, use.unit):
            return None
        above = _last_above([item for item in definitions if _is_in_sight(item, use, draft)], use.unit)
        if above is not None:
            return above
        if any(not item.is_variable for item in definitions):
            return _find_only_definition(use, family, definitions, table)
        if len({item.unit.id for item in programs}) == 1:
            return programs[0]
    return None


def _is_in_sight(definition: _Definition, use: _Use, draft: Draft) -> bool:
    """Whether the definition is in the section of the use, or (no variable) in a section around it."""
    if definition.is_variable:
        return definition.unit.heading == use.unit.heading
    return definition.unit.heading in draft.ancestors(use.unit.heading)


def _find_only_definition(
    use: _Use, family: str, definitions: list[_Definition], table: _DefinitionTable
) -> _Definition | None:
    """The definition for a use elsewhere in the document: of the only unit that defines the name.

    - Units that define a constant by the same line count as one.
    - A function or class of another section is for code below it, and not for any code if a section above uses the
      name, too: then the name stands for whatever the reader has.
    """
    is_constant = CONSTANT.fullmatch(use.name) is not None
    is_same = is_constant and len({item.text for item in definitions}) == 1
    if not is_same and len({item.unit.id for item in definitions}) > 1:
        return None
    above = _last_above(definitions, use.unit)
    target = above or definitions[0]
    if is_constant or use.is_inline:
        return target
    if above is None:
        return target if target.unit.heading == use.unit.heading else None
    return None if table.is_used_before(family, use.name, target) else target


def _resolve_early(use: _Use, table: _DefinitionTable, scope: int | None) -> _Definition | None:
    """Version 1: the nearest definition above, else the first below, else that of the only file.

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
