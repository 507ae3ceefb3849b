"""R6 TRIGGER: every execution unit needs the trigger m."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compiler.draft import Draft
from skillsv.model.skill import Edge


def find_trigger_edges(draft: Draft) -> Iterator[Edge]:
    """One edge to m per execution unit, by convention."""
    trigger = draft.units[0]
    target_at = trigger.location()
    for unit in draft.units[1:]:
        yield Edge(
            rule="R6",
            source=unit.id,
            target=trigger.id,
            evidence="structural convention: every execution unit needs the trigger",
            at=unit.location(),
            target_at=target_at,
        )
