"""The answer of a run as files in its folder: valuation.json and report.html, the same for all commands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from skillsv.model.coalition import Operator
from skillsv.model.edit import Confirmation, EditPlan
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.pipeline.edit import path_of
from skillsv.pipeline.run import Run
from skillsv.report import page, valuation_dict
from skillsv.report.chain_views import find_informative_rollouts
from skillsv.report.marginals import marginals_by_unit
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.run_folder import CONFIRMATION

CONFIRMATION_SCHEMA: Literal["skillsv.confirmation/1"] = "skillsv.confirmation/1"
"""The schema of the file that holds the proof of a run."""

TRANSCRIPTS = 200_000
"""Characters of transcripts in a page, unless another number is given."""


def recorded_proof(folder: RunFolder) -> Mapping[str, Any]:
    """The proof of the run in this folder; empty where there is none, or where it belongs to another run."""
    try:
        table = msgspec.json.decode((folder.path / CONFIRMATION).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    return table if table.get("run") == folder.run_id and table.get("schema") == CONFIRMATION_SCHEMA else {}


def recorded_confirmation(folder: RunFolder) -> Confirmation | None:
    """What was confirmed for this run before, for its report."""
    table = recorded_proof(folder)
    return msgspec.convert(table, Confirmation) if table else None


def publish(folder: RunFolder, run: Run) -> Path:
    """Write the valuation and its page into the run folder; returns the path of the page."""
    table = valuation_dict(run.valuation, recorded_confirmation(folder))
    folder.write(folder.valuation.name, json.dumps(table, indent=2).encode())
    return folder.write(folder.report.name, render_page(folder, run).encode("utf-8", errors="replace"))


def render_page(folder: RunFolder, run: Run, *, transcripts: int = TRANSCRIPTS) -> str:
    """The report page of a run with all that its folder holds, and about so many characters of transcripts."""
    return page(
        run.valuation,
        run.compiled,
        run.records,
        observations=run.observations,
        edits=_edit_plan(run),
        confirmation=recorded_confirmation(folder),
        transcripts=_read_rollouts(folder, run, transcripts) if transcripts else (),
        limit=transcripts,
    )


def _edit_plan(run: Run) -> EditPlan:
    """The pruning path to its end: what the values predict for every length of the skill."""
    return EditPlan(path=path_of(run), tokens=run.renderer.total_tokens)


def _read_rollouts(folder: RunFolder, run: Run, limit: int) -> tuple[Rollout, ...]:
    """The most informative rollouts with their answers, from the ledger, about `limit` characters of them."""
    if not folder.ledger.exists():
        return ()
    rollouts: list[Rollout] = []
    left = limit
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        for key in _informative_keys(run):
            rollout, detail = ledger.lookup([key]).get(key), ledger.detail(key)
            if rollout is None or detail is None:
                continue
            rollouts.append(replace(rollout, answer=detail.answer, transcript=detail.transcript))
            left -= len(detail.transcript or detail.answer)
            if left <= 0:
                break
    return tuple(rollouts)


def _informative_keys(run: Run) -> Iterator[RolloutKey]:
    """In chains, where a unit made the largest difference; in an adaptive run, the lowest scores of the full skill."""
    agent, digests = run.manifest["agent"]["fingerprint"], run.manifest["panel_a"]
    replicate = {step.tree: record.plan.replicate for record in run.records for step in record.steps}
    for tree, task in find_informative_rollouts(marginals_by_unit(run.records)):
        yield RolloutKey(tree=tree, task=digests.get(task, ""), agent=agent, replicate=replicate.get(tree, 0))
    everything = run.compiled.everything
    full = [item for item in run.observations if item.coalition == everything and item.score is not None]
    tree = run.renderer.render(everything, Operator.DELETE).digest if full else ""
    for item in sorted(full, key=lambda item: (item.score or 0.0, item.task, item.replicate)):
        yield RolloutKey(tree=tree, task=digests.get(item.task, ""), agent=agent, replicate=item.replicate)
