"""The compiled skill for programs: JSON of the schema `skillsv.compiled/1`, and findings as SARIF 2.1.0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import quote

from skillsv.model.compiled_document import (
    CompiledDocument,
    CompiledUnitDocument,
    ContractionDocument,
    EdgeDocument,
    ExtentDocument,
    FindingDocument,
    HierarchyDocument,
    LocationDocument,
    RepairDocument,
    RuleLossDocument,
)
from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Contraction,
    Edge,
    Extent,
    Finding,
    Leaf,
    Location,
    Repair,
    Unit,
)
from skillsv.report.escape import escape_text

SCHEMA: Literal["skillsv.compiled/1"] = "skillsv.compiled/1"
"""The schema of the compiled skill."""

SARIF_VERSION = "2.1.0"
"""SARIF is the format of findings that code hosts show beside the lines of a change."""

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
"""Where the schema of a SARIF log is published; nothing loads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLoss:
    """The resolution lost to the edges of one rule: units merged into composites, blocks opened."""

    merged: int
    expanded: int


def resolution_lost(compiled: CompiledSkill) -> dict[str, RuleLoss]:
    """For every rule on a contracted or repaired cycle: how many units were merged and how many blocks were opened.

    A cycle of several rules counts for each of them, so the numbers of all rules may sum to more than the total.
    """
    merged: Counter[str] = Counter()
    expanded: Counter[str] = Counter()
    for contraction in compiled.contractions:
        for rule in set(contraction.rules):
            merged[rule] += len(contraction.members)
    for repair in compiled.repairs:
        expanded.update(set(repair.rules))
    return {rule: RuleLoss(merged=merged[rule], expanded=expanded[rule]) for rule in sorted(merged | expanded)}


def compiled_json(compiled: CompiledSkill) -> CompiledDocument:
    """The compiled skill as plain JSON values: `skillsv.compiled/1`."""
    parts = {name: list(part) if isinstance(part, Iterator) else part for name, part in compiled_parts(compiled)}
    return cast("CompiledDocument", parts)


def compiled_parts(compiled: CompiledSkill) -> Iterator[tuple[str, object]]:
    """The same, field by field; the long lists are iterators, so that a huge skill is never in memory as dicts.

    A test compares the names with those of `CompiledDocument`; the rows have its types.
    """
    yield "schema", SCHEMA
    yield "skill", {"name": compiled.skill.name, "main": compiled.skill.main}
    yield "trigger", compiled.trigger
    yield "n", len(compiled.units)
    yield "execution_units", len(compiled.execution)
    yield "options", {name: _plain(value) for name, value in compiled.options.items()}
    yield "units", map(_unit_json, compiled.units)
    yield "edges", map(_edge_json, compiled.edges)
    yield "hierarchy", _hierarchy_json(compiled.hierarchy)
    yield "contractions", map(_contraction_json, compiled.contractions)
    yield "repairs", map(_repair_json, compiled.repairs)
    yield "resolution_lost", {rule: _loss_json(loss) for rule, loss in resolution_lost(compiled).items()}
    yield "findings", map(finding_json, compiled.findings)
    yield "digest", compiled.digest


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(part) for part in value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _loss_json(loss: RuleLoss) -> RuleLossDocument:
    return {"merged": loss.merged, "expanded": loss.expanded}


def _unit_json(unit: Unit) -> CompiledUnitDocument:
    return {
        "id": unit.id,
        "kind": str(unit.kind),
        "form": unit.form,
        **_extent_json(unit.extents[0]),
        "section": list(unit.section),
        "members": list(unit.members),
        "flags": list(unit.flags),
        "extents": [_extent_json(extent) for extent in unit.extents],
    }


def _extent_json(extent: Extent) -> ExtentDocument:
    return {
        "file": extent.file,
        "span": [extent.span.start, extent.span.end],
        "lines": [extent.lines.first, extent.lines.last],
    }


def _edge_json(edge: Edge) -> EdgeDocument:
    """An edge as JSON values: `source` needs `target`."""
    return {
        "rule": edge.rule,
        "source": edge.source,
        "target": edge.target,
        "evidence": edge.evidence,
        "at": _location_json(edge.at),
        "target_at": _location_json(edge.target_at),
    }


def _location_json(location: Location | None) -> LocationDocument | None:
    return None if location is None else {"file": location.file, "line": location.line}


def _hierarchy_json(root: Block) -> HierarchyDocument:
    top: HierarchyDocument = {"name": root.name, "children": []}
    stack = [(root, top["children"])]
    while stack:
        block, children = stack.pop()
        for child in block.children:
            if isinstance(child, Leaf):
                children.append({"unit": child.unit})
            else:
                child_json: HierarchyDocument = {"name": child.name, "children": []}
                children.append(child_json)
                stack.append((child, child_json["children"]))
    return top


def _contraction_json(contraction: Contraction) -> ContractionDocument:
    return {
        "unit": contraction.unit,
        "members": list(contraction.members),
        "rules": list(contraction.rules),
        "edges": [_edge_json(edge) for edge in contraction.edges],
    }


def _repair_json(repair: Repair) -> RepairDocument:
    return {
        "node": repair.node,
        "expanded": repair.expanded,
        "cycle": list(repair.cycle),
        "rules": list(repair.rules),
    }


def finding_json(finding: Finding) -> FindingDocument:
    """A finding as JSON values."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
    }


def sarif(findings: Iterable[tuple[str, Finding]], titles: Mapping[str, str], *, version: str) -> dict[str, Any]:
    """One SARIF log of all findings, each with the folder of its skill relative to the working folder.

    `titles` explains each code; only codes that occur are listed. Severities are written as they are: SARIF has the
    same three levels.
    """
    rows = [
        sarif_result(folder, one.code, str(one.severity), one.message, one.file, (one.line, one.line))
        for folder, one in findings
    ]
    return sarif_log(rows, titles, version=version)


def sarif_log(results: Sequence[dict[str, Any]], titles: Mapping[str, str], *, version: str) -> dict[str, Any]:
    """One SARIF log of results that `sarif_result` made."""
    codes = sorted({result["ruleId"] for result in results})
    driver = {
        "name": "skillsv",
        "semanticVersion": version,
        "rules": [{"id": code, "shortDescription": {"text": titles.get(code, code)}} for code in codes],
    }
    indexed = [{**result, "ruleIndex": codes.index(result["ruleId"])} for result in results]
    return {
        "$schema": SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": indexed}],
    }


def sarif_result(  # noqa: PLR0917 - the parts of a result, in the order of SARIF
    folder: str, code: str, level: str, message: str, file: str, lines: tuple[int, int]
) -> dict[str, Any]:
    """One result: a rule, its level, what it says, and where."""
    first = max(1, lines[0])
    region = {"startLine": first, "endLine": lines[1]} if lines[1] > first else {"startLine": first}
    return {
        "ruleId": code,
        "level": level,
        "message": {"text": _without_links(message)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(folder, file)}, "region": region}}],
    }


def _without_links(message: str) -> str:
    """The message, in which SARIF reads no `[text](address)` as a link: it may quote a skill."""
    return escape_text(message).replace("](", "] (")


def _uri(folder: str, file: str) -> str:
    """A relative reference (or a file URI for an absolute folder); bytes that are not UTF-8 are percent-encoded."""
    path = quote((folder + file).replace("\\", "/").encode("utf-8", "surrogateescape"))
    return f"file://{path}" if path.startswith("/") else path.removeprefix("./")
