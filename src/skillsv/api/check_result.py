"""The result of a check as the JSON `skillsv.check/1`, skill by skill."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from skillsv.api.changed_skills import SkillChange
from skillsv.api.lint import lint
from skillsv.api.skill import Skill
from skillsv.confirmation.gate import Gate
from skillsv.confirmation.sequential_proof import SequentialResult, TaskChange
from skillsv.model.check_document import (
    CheckDocument,
    CheckedSkillDocument,
    CheckFindingDocument,
    CheckOutcome,
    CheckProofDocument,
    TaskChangeDocument,
)
from skillsv.model.format import count
from skillsv.model.rollout import Usage
from skillsv.model.skill import Finding
from skillsv.pipeline.check import ProofSpending
from skillsv.report.compiled_json import finding_json
from skillsv.report.valuation_json import interval_dict

ORDER: tuple[CheckOutcome, ...] = ("worse", "not shown", "no worse")
"""The outcomes, the worst first."""


def describe_change(change: SkillChange, notes: Iterable[str], ignore: Collection[str]) -> CheckedSkillDocument:
    """What is known of a skill without a rollout."""
    skill = change.new or change.base
    assert skill is not None
    (tokens_before, units_before), (tokens_after, units_after) = _lengths(change.base), _lengths(change.new)
    return {
        "path": change.path,
        "folder": (change.path.rpartition("/")[0] or ".") if skill.compiled.skill.single_file else change.path,
        "name": skill.name,
        "status": change.status,  # type: ignore[typeddict-item]
        "outcome": None,
        "tokens_before": tokens_before,
        "tokens_after": tokens_after,
        "units_before": units_before,
        "units_after": units_after,
        "edits": list(change.edits),
        "findings": _findings(change, ignore),
        "too_long": False,
        "proof": None,
        "error": None,
        "notes": list(notes),
    }


def note_length(skill: CheckedSkillDocument, limit: int | None) -> None:
    """Mark a skill that has more tokens than the limit, and did not get shorter."""
    before, after = skill["tokens_before"], skill["tokens_after"]
    if limit is not None and after is not None and after > limit and (before is None or after > before):
        skill["too_long"] = True
        skill["notes"].append(f"It has {count(after)} tokens; the limit is {count(limit)}.")


def _lengths(skill: Skill | None) -> tuple[int | None, int | None]:
    """Tokens and units."""
    return (None, None) if skill is None else (skill.count_tokens(), len(skill.compiled.execution))


def _findings(change: SkillChange, ignore: Collection[str]) -> list[CheckFindingDocument]:
    """The findings in the new version; those that the base has, too, are not new. Lines may have moved."""
    if change.new is None:
        return []
    known = set() if change.base is None else {_identity(finding) for finding in lint(change.base, ignore=ignore)}
    found = lint(change.new, ignore=ignore)
    return [{**finding_json(finding), "new": _identity(finding) not in known} for finding in found]


def _identity(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.file, finding.message


def fill_in(skill: CheckedSkillDocument, result: SequentialResult) -> None:
    """Add what a proof shows."""
    lost = [row for row in result.tasks if row.new < row.old]
    gained = [row for row in reversed(result.tasks) if row.new > row.old]
    skill["outcome"] = result.outcome.value
    proof: CheckProofDocument = {
        "tasks": len(result.tasks),
        "pairs": result.pairs,
        "old": interval_dict(result.old),
        "new": interval_dict(result.new),
        "delta": interval_dict(result.delta),
        "at_worst": result.at_worst,
        "at_best": result.at_best,
        "lost": [_task(row) for row in lost],
        "gained": [_task(row) for row in gained],
    }
    skill["proof"] = proof


def _task(row: TaskChange) -> TaskChangeDocument:
    return {"task": row.task, "old": row.old, "new": row.new, "pairs": row.pairs}


def check_document(
    skills: Sequence[CheckedSkillDocument],
    spending: Sequence[ProofSpending],
    *,
    base: str,
    commit: str,
    gate: Gate,
    same_tasks: bool,
    budget: int,
    exit_code: int,
    notes: Iterable[str],
) -> CheckDocument:
    """The result of all skills."""
    outcomes = {skill["outcome"] for skill in skills}
    usd = [(spent.usage or Usage()).usd for spent in spending]
    return {
        "schema": "skillsv.check/1",
        "base": base,
        "commit": commit,
        "outcome": next((outcome for outcome in ORDER if outcome in outcomes), None),
        "claim": "these tasks" if same_tasks else "tasks like these",
        "max_drop": gate.max_drop,
        "level": gate.level,
        "skills": list(skills),
        "rollouts": {
            "budget": budget,
            "new": sum(spent.new for spent in spending),
            "reused": sum(spent.reused for spent in spending),
            "usd": None if None in usd else sum(amount or 0.0 for amount in usd),
        },
        "exit_code": exit_code,
        "notes": list(notes),
    }
