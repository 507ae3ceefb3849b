"""R1 LINK: a unit needs what its Markdown links point at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skillsv.compile.draft import Draft, DraftUnit, edge, empty_section
from skillsv.compile.references import Link, anchors_of, definitions_of, is_local, links_of, local_path
from skillsv.model.skill import Edge, Finding, Severity, UnitKind


def link(draft: Draft) -> Iterator[Edge | Finding]:
    """Edges to linked resources and to the primary units of linked sections; a dangling link is a finding."""
    anchors = anchors_of(draft)
    own = definitions_of(draft.body)
    known = _known_paths(draft)
    for unit in draft.readable:
        is_resource = unit.kind is UnitKind.RESOURCE
        if is_resource and not unit.file.lower().endswith((".md", ".markdown", ".mdx")):
            continue
        for found in links_of(unit, definitions_of((unit,)) if is_resource else own):
            if is_local(found.destination):
                yield from _follow(draft, unit, found, anchors, known)


def _known_paths(draft: Draft) -> set[str]:
    """Every file of the skill and every folder above one."""
    files = {file.path for file in draft.skill.files}
    return files | {path[:cut] for path in files for cut in range(len(path)) if path[cut] == "/"} | {"."}


def _follow(
    draft: Draft, unit: DraftUnit, found: Link, anchors: Mapping[str, int], known: set[str]
) -> Iterator[Edge | Finding]:
    paths, anchor = local_path(found.destination, unit.file)
    resource = next((draft.resources[path] for path in paths if path in draft.resources), None)
    if resource is not None:
        yield from _edge(unit, resource, found)
        return
    if paths and draft.skill.main not in paths:
        if not draft.skill.single_file and not any(path in known for path in paths):
            yield _dangling(found, unit, outside=paths[0].startswith("../"))
        return
    in_main = bool(paths) or unit.kind is not UnitKind.RESOURCE
    if not anchor or not in_main:
        return  # SKILL.md as a whole is no unit, and a resource's own anchors lie within it
    section = anchors.get(anchor, anchors.get(anchor.lower()))
    if section is None:
        yield _dangling(found, unit)
    elif section in draft.primary:
        yield from _edge(unit, draft.primary[section], found)
    else:
        yield empty_section(unit, draft.sections[section].title, found.line)


def _edge(unit: DraftUnit, target: DraftUnit, found: Link) -> Iterator[Edge]:
    if target.id != unit.id:
        evidence = f"link to {found.destination} resolves to {target.file}:{target.lines.first}"
        yield edge("R1", unit, target, evidence, (found.line, target.lines.first))


def _dangling(found: Link, unit: DraftUnit, *, outside: bool = False) -> Finding:
    leads = (
        "leaves the skill: agents that get only this folder cannot follow it. Bring the file in, or remove the link"
        if outside
        else "leads nowhere in this skill. Correct or remove it"
    )
    return Finding(
        code="dangling-link",
        severity=Severity.WARNING,
        message=f"The link to {found.destination} {leads}.",
        file=unit.file,
        line=found.line,
    )
