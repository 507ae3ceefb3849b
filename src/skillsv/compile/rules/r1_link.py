"""R1 LINK: a unit needs what its Markdown links point at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skillsv.compile.draft import Draft, DraftUnit, edge
from skillsv.compile.links import Link, anchors_of, definitions_of, is_local, links_of, local_path
from skillsv.model.skill import Edge, Finding, Severity, UnitKind


def link(draft: Draft) -> Iterator[Edge | Finding]:
    """Edges to linked resources and to the primary units of linked sections; a dangling link is a finding."""
    anchors = anchors_of(draft)
    present = {file.path for file in draft.skill.files}
    folders = {path[:cut] for path in present for cut in range(len(path)) if path[cut] == "/"} | {"."}
    own = definitions_of(draft.body)
    for unit in draft.readable:
        is_resource = unit.kind is UnitKind.RESOURCE
        if is_resource and not unit.file.lower().endswith((".md", ".markdown", ".mdx")):
            continue
        for found in links_of(unit, definitions_of((unit,)) if is_resource else own):
            if not is_local(found.destination):
                continue
            target = _target(draft, unit, found, anchors)
            if target is not None and target.id != unit.id:
                evidence = f"link to {found.destination} resolves to {target.file}:{target.lines.first}"
                yield edge("R1", unit, target, evidence, (found.line, target.lines.first))
            elif target is None and _dangles(found, unit, present | folders, anchors, draft):
                yield _dangling(found, unit)


def _target(draft: Draft, unit: DraftUnit, found: Link, anchors: Mapping[str, int]) -> DraftUnit | None:
    paths, anchor = local_path(found.destination, unit.file)
    for path in paths:
        if path in draft.resources:
            return draft.resources[path]
    in_main = draft.skill.main in paths if paths else unit.kind is not UnitKind.RESOURCE
    if not in_main or not anchor:
        return None
    section = anchors.get(anchor, anchors.get(anchor.lower()))
    return None if section is None else draft.primary.get(section)


def _dangles(found: Link, unit: DraftUnit, present: set[str], anchors: Mapping[str, int], draft: Draft) -> bool:
    paths, anchor = local_path(found.destination, unit.file)
    if paths:
        if not any(path in present or path.startswith("..") for path in paths):
            return True
        return bool(anchor) and draft.skill.main in paths and anchor.lower() not in anchors
    return bool(anchor) and unit.kind is not UnitKind.RESOURCE and anchor.lower() not in anchors


def _dangling(found: Link, unit: DraftUnit) -> Finding:
    return Finding(
        code="dangling-link",
        severity=Severity.WARNING,
        message=f"The link to {found.destination} leads nowhere in this skill. Correct or remove it.",
        file=unit.file,
        line=found.line,
    )
