"""R1 LINK: a unit needs what its Markdown links point at, and the definitions of the labels that it uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from skillsv.compiler.draft import Draft, DraftUnit, empty_section, make_edge
from skillsv.compiler.references import (
    Definition,
    Link,
    find_anchors,
    find_definitions,
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
    return _find_edges(draft, find_definitions, find_links)


def find_early_link_edges(draft: Draft) -> Iterator[Edge | Finding] | None:
    """Version 1 of the rule: a link by label needs its destination, but not the unit that defines the label."""
    if not any("]:" in unit.text for unit in draft.body):
        return None
    return _find_edges(draft, _find_early_definitions, _find_early_links)


def _find_edges(
    draft: Draft, define: Callable[[Iterable[DraftUnit]], Mapping[str, Definition]], find: FindLinks
) -> Iterator[Edge | Finding]:
    anchors = {file: find_anchors(draft, file) for file in (draft.skill.main, *draft.pointers)}
    units_of: dict[str, list[DraftUnit]] = {file: [] for file in anchors}
    for unit in draft.body:
        units_of[unit.file].append(unit)
    definitions = {file: define(units) for file, units in units_of.items()}
    known_paths = _known_paths(draft)
    for unit in draft.readable:
        if not unit.is_markdown:
            continue
        is_resource = unit.kind is UnitKind.RESOURCE
        for link in find(unit, define([unit]) if is_resource else definitions[unit.file]):
            if link.definition is not None:
                yield from _definition_edge(unit, link.definition, link.line)
            if is_local(link.destination):
                yield from _follow(draft, unit, link, anchors, known_paths)


def _known_paths(draft: Draft) -> set[str]:
    """Every file of the skill and every folder above one."""
    files = {file.path for file in draft.skill.files}
    return files | {path[:cut] for path in files for cut in range(len(path)) if path[cut] == "/"} | {"."}


def _follow(
    draft: Draft, unit: DraftUnit, link: Link, anchors: Mapping[str, Mapping[str, int]], known_paths: set[str]
) -> Iterator[Edge | Finding]:
    paths, anchor = local_path(link.destination, unit.file)
    resource = next((draft.resources[path] for path in paths if path in draft.resources), None)
    if resource is not None:
        yield from _edge(unit, resource, link)
        return
    if paths and draft.skill.main not in paths:
        if not draft.skill.single_file and not any(path in known_paths for path in paths):
            yield _dangling(link, unit, outside=paths[0].startswith("../"))
        return
    in_main = bool(paths) or unit.kind is not UnitKind.RESOURCE
    if not anchor or not in_main:
        return  # SKILL.md itself is not a unit, and an anchor inside a resource points at the resource itself
    in_file = anchors[draft.skill.main if paths else unit.file]
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
