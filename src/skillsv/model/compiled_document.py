"""The JSON `skillsv.compiled/1` as types. `docs/schema` is generated from them; `report.compiled_json` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from skillsv.model.valuation_document import Count, JsonValue


class SourceDocument(TypedDict):
    """The skill as it was read."""

    name: Annotated[str, Meta(description="The name of the skill.")]
    main: Annotated[str, Meta(description="The main Markdown file.")]


class ExtentDocument(TypedDict):
    """Where bytes of a unit are: one span of one file."""

    file: Annotated[str, Meta(description="The file, relative to the skill.")]
    span: Annotated[list[int], Meta(min_length=2, max_length=2, description="First byte and the byte after the last.")]
    lines: Annotated[list[int], Meta(min_length=2, max_length=2, description="First and last line, counted from 1.")]


class CompiledUnitDocument(ExtentDocument):
    """One unit. `file`, `span` and `lines` are those of its first extent."""

    id: Annotated[str, Meta(description="The stable name of the unit.")]
    kind: Annotated[str, Meta(description="The kind of the unit, such as item, block or resource.")]
    form: Annotated[str, Meta(description="Its form in Markdown, such as bullet or table.")]
    section: Annotated[list[str], Meta(description="The titles of the headings above it.")]
    members: Annotated[list[str], Meta(description="The ids that were contracted into a composite.")]
    flags: Annotated[list[str], Meta(description="Properties that the compiler noticed.")]
    extents: Annotated[list[ExtentDocument], Meta(description="All places of its bytes; one, except for composites.")]


class LocationDocument(TypedDict):
    """A file and a line."""

    file: Annotated[str, Meta(description="The file, relative to the skill.")]
    line: Annotated[int, Meta(description="The line, counted from 1.")]


class EdgeDocument(TypedDict):
    """A dependency: a partial skill with `source` must contain `target`."""

    rule: Annotated[str, Meta(description="The rule of the compiler that found it.")]
    source: Annotated[str, Meta(description="The unit that needs the other.")]
    target: Annotated[str, Meta(description="The unit that is needed.")]
    evidence: Annotated[str, Meta(description="The text that shows the dependency.")]
    at: Annotated[LocationDocument | None, Meta(description="Where the evidence is.")]
    target_at: Annotated[LocationDocument | None, Meta(description="Where the needed text is.")]


class HierarchyDocument(TypedDict, total=False):
    """A node of the hierarchy. A block has `name` and `children`, a leaf has only `unit`."""

    name: Annotated[str, Meta(description="The name of a block.")]
    children: Annotated[list[HierarchyDocument], Meta(description="The nodes of a block, in document order.")]
    unit: Annotated[str, Meta(description="The unit of a leaf.")]


class ContractionDocument(TypedDict):
    """A dependency cycle that became one composite unit."""

    unit: Annotated[str, Meta(description="The id of the composite.")]
    members: Annotated[list[str], Meta(description="The ids of the units in it.")]
    rules: Annotated[list[str], Meta(description="The rules of the edges on the cycle.")]
    edges: Annotated[list[EdgeDocument], Meta(description="The edges on the cycle.")]


class RepairDocument(TypedDict):
    """A block whose children were moved up, because its contiguity contradicted the dependencies."""

    node: Annotated[str, Meta(description="The block that received the children.")]
    expanded: Annotated[str, Meta(description="The block that was opened.")]
    cycle: Annotated[list[str], Meta(description="The blocks on the cycle.")]
    rules: Annotated[list[str], Meta(description="The rules of the edges on the cycle.")]


class RuleLossDocument(TypedDict):
    """The resolution lost to the edges of one rule."""

    merged: Annotated[Count, Meta(description="Units merged into composites.")]
    expanded: Annotated[Count, Meta(description="Blocks opened.")]


class FindingDocument(TypedDict):
    """A defect of the skill."""

    code: Annotated[str, Meta(description="The kind of defect.")]
    severity: Annotated[Literal["error", "warning", "note"], Meta(description="How serious it is.")]
    message: Annotated[str, Meta(description="What is wrong and what to do.")]
    file: Annotated[str, Meta(description="The file, relative to the skill.")]
    line: Annotated[int, Meta(description="The line, counted from 1.")]


class CompiledDocument(TypedDict):
    """The units of a skill, what each needs, and the tree they stand in."""

    schema: Annotated[Literal["skillsv.compiled/1"], Meta(description="The name and version of this format.")]
    skill: Annotated[SourceDocument, Meta(description="The skill as it was read.")]
    trigger: Annotated[str, Meta(description="The id of the trigger, which every partial skill contains.")]
    n: Annotated[Count, Meta(description="Units, the trigger included.")]
    execution_units: Annotated[Count, Meta(description="Units without the trigger.")]
    options: Annotated[dict[str, JsonValue], Meta(description="The options of the compiler.")]
    units: Annotated[list[CompiledUnitDocument], Meta(description="All units in document order, the trigger first.")]
    edges: Annotated[list[EdgeDocument], Meta(description="The dependencies.")]
    hierarchy: Annotated[HierarchyDocument, Meta(description="The repaired tree from which orders are sampled.")]
    contractions: Annotated[list[ContractionDocument], Meta(description="Cycles that became composites.")]
    repairs: Annotated[list[RepairDocument], Meta(description="Blocks that were opened.")]
    resolution_lost: Annotated[dict[str, RuleLossDocument], Meta(description="Resolution lost, by rule.")]
    findings: Annotated[list[FindingDocument], Meta(description="Defects of the skill.")]
    digest: Annotated[str, Meta(description="Identifies the files and the options of the compiler.")]
