"""R1 LINK: a unit needs what its Markdown links point at, and the definitions of the labels that it uses.

Links of a heading to files count for every unit that the heading is shown with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from skillsv.compiler.draft import Draft, DraftUnit, empty_section, make_edge
from skillsv.compiler.headings import HeadingEdges, find_headings
from skillsv.compiler.references import (
    Definition,
    Link,
    definitions_by_file,
    find_anchors,
    find_links,
    is_local,
    local_path,
    normalize_label,
    without_code_spans,
)
from skillsv.model.skill import Edge, Finding, Severity, UnitKind

_EARLY_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*+\n?[ \t]*+(?:<([^<>\n]*)>|(\S+))", re.MULTILINE)
_EARLY_REFERENCE = re.compile(r"\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])?(?![(:\[])")

FindLinks = Callable[[DraftUnit, Mapping[str, Definition]], Iterable[Link]]
"""Finds the links of a unit, given the definitions of its file."""


def find_link_edges(draft: Draft) -> Iterator[Edge | Finding]:
    """Edges to linked resources, to the primary units of linked sections, and to definitions of labels.

    A dangling link is a finding.
    """
    places = _Places(draft)
    definitions = definitions_by_file(draft)
    yield from _edges_of_units(draft, places, definitions, find_links)
    yield from _edges_of_headings(draft, places, definitions)


def find_early_link_edges(draft: Draft) -> Iterator[Edge | Finding] | None:
    """Version 1 of the rule: without headings, and without edges to the units that define labels."""
    labels = any("]:" in unit.text for unit in draft.body)
    if not labels and not any("[" in section.title for section in draft.sections):
        return None
    definitions = definitions_by_file(draft, _find_early_definitions)
    return _edges_of_units(draft, _Places(draft), definitions, _find_early_links)


def _edges_of_units(
    draft: Draft, places: _Places, definitions: Mapping[str, Mapping[str, Definition]], find: FindLinks
) -> Iterator[Edge | Finding]:
    for unit in draft.readable:
        if unit.is_markdown:
            for link in find(unit, definitions[unit.file]):
                yield from places.follow(unit, link)


def _edges_of_headings(
    draft: Draft, places: _Places, definitions: Mapping[str, Mapping[str, Definition]]
) -> Iterator[Edge | Finding]:
    """Edges to the files and definitions that headings link to; a link to a section needs nothing.

    A heading often links to itself, or back to the top: edges to the first unit there would tie whole sections to it.
    """
    files = {unit.id for unit in draft.resources.values()}
    heading_edges = HeadingEdges(draft)
    for heading in find_headings(draft):
        for link in find_links(heading.text, definitions.get(heading.text.file, {})):
            label = link.definition.unit.id if link.definition else None
            for result in places.follow(heading.text, link):
                if isinstance(result, Finding):
                    yield result
                elif result.target in files or result.target == label:
                    yield from heading_edges.spread(heading, result)


class _Places:
    """What links of a skill can lead to."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._anchors = {file: find_anchors(draft, file) for file in (draft.skill.main, *draft.pointers)}
        files = {file.path for file in draft.skill.files}
        folders = {path[:cut] for path in files for cut in range(len(path)) if path[cut] == "/"}
        self._known_paths = files | folders | {"."}

    def follow(self, unit: DraftUnit, link: Link) -> Iterator[Edge | Finding]:
        """The edges from a unit to what its link leads to, or the finding that it leads nowhere."""
        if link.definition is not None:
            yield from _definition_edge(unit, link.definition, link.line)
        if is_local(link.destination):
            yield from self._follow_destination(unit, link)

    def _follow_destination(self, unit: DraftUnit, link: Link) -> Iterator[Edge | Finding]:
        draft = self._draft
        paths, anchor = local_path(link.destination, unit.file)
        resource = next((draft.resources[path] for path in paths if path in draft.resources), None)
        if resource is not None:
            yield from _edge(unit, resource, link)
            return
        if paths and draft.skill.main not in paths:
            if not draft.skill.single_file and not any(path in self._known_paths for path in paths):
                yield _dangling(link, unit, outside=paths[0].startswith("../"))
            return
        in_main = bool(paths) or unit.kind is not UnitKind.RESOURCE
        if not anchor or not in_main:
            return  # SKILL.md itself is not a unit, and an anchor inside a resource points at the resource itself
        in_file = self._anchors[draft.skill.main if paths else unit.file]
        section = in_file.get(anchor, in_file.get(anchor.lower()))
        if section is None:
            yield _dangling(link, unit)
        elif section in draft.primary:
            yield from _edge(unit, draft.primary[section], link)
        else:
            yield empty_section(unit, draft.sections[section].title, link.line)


def _edge(unit: DraftUnit, target: DraftUnit, link: Link) -> Iterator[Edge]:
    if target.id != unit.id:
        evidence = f"link to {link.destination} resolves to {target.file}:{target.lines.first}"
        yield make_edge("R1", unit, target, evidence, (link.line, target.lines.first), prose=True)


def _definition_edge(unit: DraftUnit, definition: Definition, line: int) -> Iterator[Edge]:
    if definition.unit.id != unit.id:
        evidence = f"uses the label [{definition.label}], defined in {definition.unit.file}:{definition.line}"
        yield make_edge("R1", unit, definition.unit, evidence, (line, definition.line), prose=True)


def _dangling(link: Link, unit: DraftUnit, *, outside: bool = False) -> Finding:
    problem = (
        "leaves the skill: agents that get only this folder cannot follow it. Bring the file in, or remove the link"
        if outside
        else "leads nowhere in this skill. Correct or remove it"
    )
    return Finding(
        code="dangling-link",
        severity=Severity.WARNING,
        message=f"The link to {link.destination} {problem}.",
        file=unit.file,
        line=link.line,
    )


def _find_early_definitions(units: Iterable[DraftUnit]) -> dict[str, Definition]:
    definitions: dict[str, Definition] = {}
    for unit in units:
        for match in _EARLY_DEFINITION.finditer(unit.prose) if "]:" in unit.text else ():
            label, destination = normalize_label(match[1]), match[2] if match[2] is not None else match[3]
            definitions.setdefault(label, Definition(label, destination, unit, match.start()))
    return definitions


def _find_early_links(unit: DraftUnit, definitions: Mapping[str, Definition]) -> Iterator[Link]:
    yield from find_links(unit, {})
    text = without_code_spans(unit.prose) if definitions and "[" in unit.text else ""
    for match in _EARLY_REFERENCE.finditer(text):
        definition = definitions.get(normalize_label(match[2] or match[1]))
        if definition is not None:
            yield Link(definition.destination, unit.line_of(match.start(), text))
