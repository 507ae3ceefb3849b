"""R4 DEF-USE: a unit that uses a symbol needs the unit that defines it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from skillsv.compile.draft import Draft, DraftUnit, edge
from skillsv.compile.modules import module_resource
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
    codes = [code for unit in draft.readable for code in _codes(unit)]
    yield from _imports(draft, codes)
    names, variables = _tables(codes)
    for use in _uses(draft, codes, names, variables):
        target = _resolve(use, names, variables)
        if target is not None:
            evidence = f"uses {use.name} (line {use.line}), defined in {target.unit.file}:{target.line}"
            yield edge("R4", use.unit, target.unit, evidence, (use.line, target.line))


def _codes(unit: DraftUnit) -> Iterator[_Code]:
    """The code of a unit: its fences, or the whole file if that is code."""
    if unit.kind is UnitKind.RESOURCE:
        language = language_of_file(unit.file)
        if language is not None:
            yield _Code(unit, language, unit.text, 1, language.define(unit.text))
        return
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


Table = dict[tuple[str, str], list[_Definition]]
"""Definitions in document order by language family and name."""


def _tables(codes: list[_Code]) -> tuple[Table, Table]:
    names: Table = {}
    variables: Table = {}
    for code in codes:
        for name, line in code.found.names.items():
            if name != _ENTRY:
                names.setdefault((code.language.family, name), []).append(_Definition(code.unit, code.line + line))
        if code.unit.kind is not UnitKind.RESOURCE:
            for name, line in code.found.variables.items():
                key = (code.language.family, name)
                variables.setdefault(key, []).append(_Definition(code.unit, code.line + line))
    return names, variables


def _uses(draft: Draft, codes: list[_Code], names: Table, variables: Table) -> Iterator[_Use]:
    """Uses in the main file of names that something defines; code that mentions none of them is not parsed again."""
    if not names and not variables:
        return
    for code in codes:
        family = code.language.family
        words = {word for word in _WORD.findall(code.text) if (family, word) in names or (family, word) in variables}
        if code.unit.kind is not UnitKind.RESOURCE and words:
            free = code.language.use(code.text) & words
            for name, line in first_lines(code.text, free).items():
                yield _Use(code.unit, name, code.line + line, (family,))
    for unit in draft.body if names else ():
        prose = unit.prose
        for match in _INLINE.finditer(prose) if "`" in prose else ():
            yield _Use(unit, match[1].removesuffix("()"), unit.line(match.start(), prose), _FAMILIES)


def _resolve(use: _Use, names: Table, variables: Table) -> _Definition | None:
    """The definition that a reader would take: the nearest above, else the first below, else the only file's."""
    for family in use.families:
        found = names.get((family, use.name), [])
        near = variables.get((family, use.name), []) if len(use.families) == 1 else []
        if any(one.unit.id == use.unit.id for one in (*found, *near)):
            return None
        body = [one for one in found if one.unit.kind is not UnitKind.RESOURCE]
        same_section = [one for one in near if one.unit.heading == use.unit.heading]
        above = [one for one in (*body, *same_section) if one.unit.place < use.unit.place]
        if above:
            return max(above, key=lambda one: (one.unit.place, one.line))
        if body:
            return body[0]
        files = {one.unit.id: one for one in reversed(found)}
        if len(files) == 1:
            return next(iter(files.values()))
    return None
