"""Which auxiliary Markdown files are cut into units, and which units lead a reader to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.compiler.headings import find_headings
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.paths import PathIndex, text_with_names
from skillsv.compiler.references import Definition, definitions_by_file, find_links, is_local, local_path
from skillsv.model.skill import UnitKind

_MAX_DOCUMENT = 1_000_000
"""Bytes; a larger Markdown file is data that a program wrote: it stays one unit."""

_FAR = sys.maxsize
"""The depth of a file that the main file does not lead to."""


def documents_inside(draft: Draft, options: CompileOptions) -> frozenset[str]:
    """The Markdown files of a draft, all one unit each, that are to be cut: those that the main file leads to.

    With `inside="auto"` they are cut where they hold more text than the main file. A file that a program names stays
    one unit: the program reads it as it is. So does a file that only headings name: stored runs keep their units.
    """
    if options.inside == "main" or not any(map(_is_document, draft.resources.values())):
        return frozenset()
    sizes = {path: len(unit.span) for path, unit in draft.resources.items() if _is_document(unit)}
    main = draft.skill.file(draft.skill.main).size
    if options.inside == "auto" and sum(sizes.values()) <= main:
        return frozenset()
    references = _references_in_units(draft)
    by_program = {reference.path for reference in references if not reference.source.is_markdown}
    linked = _depths(draft, references).keys() & sizes.keys() - by_program
    if options.inside == "auto" and sum(sizes[path] for path in linked) <= main:
        return frozenset()
    return frozenset(linked)


def find_pointers(draft: Draft) -> Mapping[str, tuple[DraftUnit, ...]]:
    """For each file that is cut, the units that lead to it, from files nearer to the main file, in document order.

    A title is shown with the units that lead to its file. So they lead to the files that the title refers to, too.
    """
    in_units, in_headings = _references_in_units(draft), _references_in_headings(draft)
    references = [*in_units, *in_headings]
    depths = _depths(draft, in_units, references)
    cut = [path for path, unit in draft.files.items() if unit.kind is not UnitKind.RESOURCE]
    found: dict[str, dict[int, DraftUnit]] = {path: {} for path in cut}
    for reference in sorted(references, key=lambda reference: depths.get(reference.source.file, _FAR)):
        file = reference.source.file
        if reference.path in found and depths.get(file, _FAR) < depths.get(reference.path, 0):
            found[reference.path].update({unit.position: unit for unit in reference.units})
            if reference.in_title:
                found[reference.path].update(found.get(file, {}))
    return {path: tuple(units[position] for position in sorted(units)) for path, units in found.items()}


def _is_document(unit: DraftUnit) -> bool:
    return unit.is_markdown and not unit.flags and 0 < len(unit.span) <= _MAX_DOCUMENT


class _Reference(NamedTuple):
    """A path of an auxiliary file in a unit or heading of another file, and the units with which it is shown."""

    path: str
    source: DraftUnit
    units: tuple[DraftUnit, ...]
    in_title: bool = False


def _references_in_units(draft: Draft) -> list[_Reference]:
    index, definitions = PathIndex(draft), definitions_by_file(draft)
    return [
        _Reference(path, unit, (unit,))
        for unit in draft.readable
        for path in _files_named_by(draft, unit, index, definitions)
    ]


def _references_in_headings(draft: Draft) -> list[_Reference]:
    index, definitions = PathIndex(draft), definitions_by_file(draft)
    return [
        _Reference(path, heading.text, heading.units, heading.is_title)
        for heading in find_headings(draft)
        for path in _files_named_by(draft, heading.text, index, definitions)
    ]


def _files_named_by(
    draft: Draft, unit: DraftUnit, index: PathIndex, definitions: Mapping[str, Mapping[str, Definition]]
) -> set[str]:
    """The other auxiliary files that a unit names, runs or links to."""
    text = text_with_names(unit)
    files = {mention.resource.file for mention in (*index.mentions(unit, text), *index.calls(unit, text))}
    for link in find_links(unit, definitions.get(unit.file, {})) if unit.is_markdown else ():
        if is_local(link.destination):
            paths, _ = local_path(link.destination, unit.file)
            files.update(path for path in paths if path in draft.files)
    return files - {unit.file}


def _depths(draft: Draft, *steps: Iterable[_Reference]) -> dict[str, int]:
    """The number of references from the main file to each file that it leads to.

    Each step of references counts for the files that the steps before it do not lead to.
    """
    depths = {draft.skill.main: 0}
    for references in steps:
        names_of: dict[str, set[str]] = {}
        for reference in references:
            names_of.setdefault(reference.source.file, set()).add(reference.path)
        pending = sorted(depths, key=lambda path: depths[path])
        for file in pending:
            for path in sorted(names_of.get(file, ())):
                if path not in depths:
                    depths[path] = depths[file] + 1
                    pending.append(path)
    return depths
