"""The dependency rules of the paper's appendix, in one table. Leave one out by its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skillsv.compile.draft import Draft
from skillsv.compile.rules.r1_link import link
from skillsv.compile.rules.r2_path import path
from skillsv.compile.rules.r3_heading_ref import heading_ref
from skillsv.compile.rules.r4_def_use import def_use
from skillsv.compile.rules.r5_example_ref import example_ref
from skillsv.compile.rules.r6_trigger import trigger
from skillsv.compile.rules.r7_table_cont import table_cont
from skillsv.compile.rules.r8_list_cont import list_cont
from skillsv.compile.rules.r9_lead_in import lead_in
from skillsv.model.skill import Edge, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One family of edges. A heuristic rule reads the surface only, and its evidence is weaker."""

    id: str
    name: str
    apply: Callable[[Draft], Iterator[Edge | Finding]]
    heuristic: bool = False


RULES: tuple[Rule, ...] = (
    Rule(id="R1", name="link", apply=link),
    Rule(id="R2", name="path", apply=path),
    Rule(id="R3", name="heading-ref", apply=heading_ref, heuristic=True),
    Rule(id="R4", name="def-use", apply=def_use),
    Rule(id="R5", name="example-ref", apply=example_ref),
    Rule(id="R6", name="trigger", apply=trigger),
    Rule(id="R7", name="table-cont", apply=table_cont),
    Rule(id="R8", name="list-cont", apply=list_cont, heuristic=True),
    Rule(id="R9", name="lead-in", apply=lead_in, heuristic=True),
)

TRIGGER_RULE = "R6"
"""The one rule that always holds: values count from a skill that has its trigger."""

__all__ = ["RULES", "TRIGGER_RULE", "Rule"]
