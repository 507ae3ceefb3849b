"""The answer of a run as files in its folder: valuation.json and report.html, the same for all commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.edit import Confirmation, EditPlan
from skillsv.model.task import Task
from skillsv.pipeline.edit import path_of, prune
from skillsv.pipeline.evidence import gather_evidence
from skillsv.pipeline.run import Run
from skillsv.pipeline.run_facts import read_facts
from skillsv.report import page, valuation_dict
from skillsv.report.edits import ShorterSkill
from skillsv.rollout import RunFolder
from skillsv.rollout.run_folder import CONFIRMATION

CONFIRMATION_SCHEMA: Literal["skillsv.confirmation/1"] = "skillsv.confirmation/1"
"""The schema of the file that holds the proof of a run."""

TRANSCRIPTS = 200_000
"""Characters of transcripts in a page, unless another number is given."""


def recorded_proof(folder: RunFolder) -> Mapping[str, Any]:
    """The proof of the run in this folder; empty where there is none, or where it belongs to another run."""
    try:
        table = msgspec.json.decode((folder.path / CONFIRMATION).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return table if table.get("run") == folder.run_id and table.get("schema") == CONFIRMATION_SCHEMA else {}


def recorded_confirmation(folder: RunFolder) -> Confirmation | None:
    """What was confirmed for this run before, for its report."""
    table = recorded_proof(folder)
    return msgspec.convert(table, Confirmation) if table else None


def publish(folder: RunFolder, run: Run, *, tasks: Sequence[Task] | None = None) -> Path:
    """Write the valuation and its page into the run folder; returns the path of the page.

    `tasks` are those of panel A, where they are at hand; else they are read again.
    """
    table = valuation_dict(run.valuation, recorded_confirmation(folder))
    folder.write(folder.valuation.name, msgspec.json.format(json.dumps(table).encode(), indent=2))
    return folder.write(folder.report.name, render_page(folder, run, tasks=tasks).encode("utf-8", errors="replace"))


def render_page(
    folder: RunFolder, run: Run, *, transcripts: int = TRANSCRIPTS, tasks: Sequence[Task] | None = None
) -> str:
    """The report page of a run with all that its folder holds, and about so many characters of transcripts.

    The texts of tasks and answers beside each line have as much room again; without transcripts the page has none.
    """
    gathered = gather_evidence(folder, run, tasks, transcripts)
    return page(
        run.valuation,
        run.compiled,
        run.records,
        observations=run.observations,
        edits=EditPlan(path=path_of(run), tokens=run.renderer.total_tokens),
        confirmation=recorded_confirmation(folder),
        shorter=_shorter_skill(folder, run),
        evidence=gathered.evidence,
        facts=read_facts(folder, run),
        transcripts=gathered.rollouts,
        limit=transcripts,
    )


def _shorter_skill(folder: RunFolder, run: Run) -> ShorterSkill | None:
    """The skill without what the verdicts remove, and whether the recorded proof is of this version.

    None for a run that cannot be pruned: one that evaluated the description of a skill.
    """
    try:
        pruned = prune(run, None)
    except RecordsError:
        return None
    proof = recorded_proof(folder)
    return ShorterSkill(
        before=pruned.before.contents,
        after=pruned.after.contents,
        main=run.compiled.skill.main,
        steps=pruned.steps,
        tokens_before=pruned.tokens_before,
        tokens_after=pruned.tokens_after,
        full_score=run.valuation.estimate.anchors.full.value,
        confirmed=pruned.after.digest in proof.get("looks", ()) and proof.get("tokens_new") == pruned.tokens_after,
    )
