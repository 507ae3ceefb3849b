"""Which auxiliary Markdown files are cut into units, and which units lead a reader to them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.paths import PathIndex, text_with_names
from skillsv.compiler.references import Definition, find_definitions, find_links, is_local, local_path
from skillsv.model.skill import UnitKind

_MAX_DOCUMENT = 1_000_000
"""Bytes; a larger Markdown file is data that a program wrote: it stays one unit."""

_FAR = sys.maxsize
"""The depth of a file that the main file does not lead to."""


def documents_inside(draft: Draft, options: CompileOptions) -> frozenset[str]:
    """The Markdown files of a draft, all one unit each, that are to be cut: those that the main file leads to.

    With `inside="auto"` they are cut where they hold more text than the main file. A file that a program names stays
    one unit: the program reads it as it is.
    """
    if options.inside == "main" or not any(map(_is_document, draft.resources.values())):
        return frozenset()
    sizes = {path: len(unit.span) for path, unit in draft.resources.items() if _is_document(unit)}
    main = draft.skill.file(draft.skill.main).size
    if options.inside == "auto" and sum(sizes.values()) <= main:
        return frozenset()
    named = _named_files(draft)
    by_program = {path for path, units in named.items() if any(not unit.is_markdown for unit in units)}
    linked = _depths(draft, named).keys() & sizes.keys() - by_program
    if options.inside == "auto" and sum(sizes[path] for path in linked) <= main:
        return frozenset()
    return frozenset(linked)


def find_pointers(draft: Draft) -> Mapping[str, tuple[DraftUnit, ...]]:
    """For each file that is cut, the units that lead to it, from files nearer to the main file, in document order."""
    named = _named_files(draft)
    depths = _depths(draft, named)
    cut = [path for path, unit in draft.files.items() if unit.kind is not UnitKind.RESOURCE]
    return {
        path: tuple(unit for unit in named.get(path, ()) if depths.get(unit.file, _FAR) < depths.get(path, 0))
        for path in cut
    }


def _is_document(unit: DraftUnit) -> bool:
    return unit.is_markdown and not unit.flags and 0 < len(unit.span) <= _MAX_DOCUMENT


def _named_files(draft: Draft) -> dict[str, list[DraftUnit]]:
    """For each auxiliary file, the units of other files that name it or link to it."""
    index = PathIndex(draft)
    named: dict[str, list[DraftUnit]] = {}
    units_of: dict[str, list[DraftUnit]] = {}
    for unit in draft.readable:
        units_of.setdefault(unit.file, []).append(unit)
    for units in units_of.values():
        definitions = find_definitions(unit for unit in units if unit.is_markdown)
        for unit in units:
            for path in dict.fromkeys(_files_named_by(draft, unit, index, definitions)):
                if path != unit.file:
                    named.setdefault(path, []).append(unit)
    return named


def _files_named_by(
    draft: Draft, unit: DraftUnit, index: PathIndex, definitions: Mapping[str, Definition]
) -> Iterator[str]:
    text = text_with_names(unit)
    for mention in index.mentions(unit, text):
        yield mention.resource.file
    for mention in index.calls(unit, text):
        yield mention.resource.file
    for link in find_links(unit, definitions) if unit.is_markdown else ():
        if is_local(link.destination):
            paths, _ = local_path(link.destination, unit.file)
            yield from (path for path in paths[:2] if path in draft.files)


def _depths(draft: Draft, named: Mapping[str, list[DraftUnit]]) -> dict[str, int]:
    """The number of references from the main file to each file that it leads to."""
    names_of: dict[str, list[str]] = {}
    for path, units in named.items():
        for file in dict.fromkeys(unit.file for unit in units):
            names_of.setdefault(file, []).append(path)
    depths = {draft.skill.main: 0}
    pending = [draft.skill.main]
    for file in pending:
        for path in names_of.get(file, ()):
            if path not in depths:
                depths[path] = depths[file] + 1
                pending.append(path)
    return depths
