"""The verifier `all`: several verifiers must accept the same answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks.verifiers.scorer import Scorer

_KEYS = {"verifier", "target", "not"}
"""The keys of one part."""


def all_of(target: Any, make: Callable[[str, Any], Scorer]) -> Scorer:
    """1 if every part holds, else 0.

    The target is a list of parts such as `{"verifier": "contains", "target": "paid"}`; with `"not": true` the verifier
    must refuse the answer. `make` makes the scorer of one part from its specification and its target: verifiers that
    compare the answer with a target, no programs and no judges.
    """
    if not isinstance(target, list) or not target:
        raise ValueError('the target must be a list such as [{"verifier": "contains", "target": "paid"}]')
    parts = [_read_part(part, make) for part in target]

    async def score(task: Task, outcome: Outcome, workspace: Path) -> float:
        for scorer, wanted in parts:
            if (await scorer(task, outcome, workspace) == 1.0) is not wanted:
                return 0.0
        return 1.0

    return score


def _read_part(part: Any, make: Callable[[str, Any], Scorer]) -> tuple[Scorer, bool]:
    """The scorer of one part, and whether it must accept the answer."""
    if not isinstance(part, Mapping) or set(part) - _KEYS or not isinstance(part.get("verifier"), str):
        raise ValueError("a part of `all` has the keys `verifier`, `target` and, if it must not hold, `not`")
    return make(part["verifier"], part.get("target")), not part.get("not", False)
