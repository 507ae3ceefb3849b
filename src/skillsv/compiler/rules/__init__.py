"""The dependency rules of the paper's appendix, and R10 for units inside reference files, in one table.

To add a rule, write a module with one function from `Draft` to edges and findings, and add a row to `RULES`.
`CompileOptions.without` leaves rules out by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillsv.compiler.draft import Draft
from skillsv.compiler.rules.r1_link import find_early_link_edges, find_link_edges
from skillsv.compiler.rules.r2_path import find_early_path_edges, find_path_edges
from skillsv.compiler.rules.r3_heading_ref import find_early_heading_edges, find_heading_edges
from skillsv.compiler.rules.r4_def_use import find_def_use_edges, find_early_def_use_edges
from skillsv.compiler.rules.r5_example_ref import find_example_edges
from skillsv.compiler.rules.r6_trigger import find_trigger_edges
from skillsv.compiler.rules.r7_table_cont import find_table_edges
from skillsv.compiler.rules.r8_list_cont import find_list_edges
from skillsv.compiler.rules.r9_lead_in import find_early_lead_in_edges, find_lead_in_edges
from skillsv.compiler.rules.r10_inside import find_inside_edges
from skillsv.model.skill import Edge, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of edge. A heuristic rule looks at words and layout only, so its evidence is weaker.

    `early` is version 1 of a rule that has changed: runs of earlier versions keep the edges that they were valued with.
    It returns None where both versions give the same.
    """

    id: str
    name: str
    apply: Callable[[Draft], Iterator[Edge | Finding]]
    heuristic: bool = False
    early: Callable[[Draft], Iterator[Edge | Finding] | None] | None = None


RULES: tuple[Rule, ...] = (
    Rule(id="R1", name="link", apply=find_link_edges, early=find_early_link_edges),
    Rule(id="R2", name="path", apply=find_path_edges, early=find_early_path_edges),
    Rule(id="R3", name="heading-ref", apply=find_heading_edges, heuristic=True, early=find_early_heading_edges),
    Rule(id="R4", name="def-use", apply=find_def_use_edges, early=find_early_def_use_edges),
    Rule(id="R5", name="example-ref", apply=find_example_edges),
    Rule(id="R6", name="trigger", apply=find_trigger_edges),
    Rule(id="R7", name="table-cont", apply=find_table_edges),
    Rule(id="R8", name="list-cont", apply=find_list_edges, heuristic=True),
    Rule(id="R9", name="lead-in", apply=find_lead_in_edges, heuristic=True, early=find_early_lead_in_edges),
    Rule(id="R10", name="inside", apply=find_inside_edges),
)

TRIGGER_RULE = "R6"
"""The one rule that cannot be left out: values are measured from a skill that has its trigger."""

__all__ = ["RULES", "TRIGGER_RULE", "Rule"]
