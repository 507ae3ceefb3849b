"""The answer on paper: valuation.json and report.html in the run folder, the same whoever writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from skillsv.confirm import Proof
from skillsv.errors import RecordsError
from skillsv.model.coalition import Operator
from skillsv.model.edit import Confirmation, EditPlan
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.pipeline.edit import path_of
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import Run
from skillsv.report import page, valuation_dict
from skillsv.report.chain_views import telling_places
from skillsv.report.marginals import marginals_by_unit
from skillsv.rollout import Ledger, RunFolder

# What was proved for a run, as a file in its folder: `skillsv.confirmation/1`.

SCHEMA = "skillsv.confirmation/1"
FILE = "confirmation.json"


def proof_dict(proof: Proof) -> dict[str, Any]:
    """The proof as `skillsv.confirmation/1`."""
    table: dict[str, Any] = {"schema": SCHEMA, **msgspec.to_builtins(proof.confirmation)}
    rest: dict[str, Any] = msgspec.to_builtins(proof)
    del rest["confirmation"]
    return {**table, **rest, "token_share": _share(proof.confirmation)}


def _share(confirmation: Confirmation) -> float:
    return confirmation.tokens_new / confirmation.tokens_old if confirmation.tokens_old else 1.0


def recorded_proof(folder: RunFolder) -> Mapping[str, Any]:
    """The proof of the run in this folder; nothing where there is none, or where it is another run's."""
    try:
        table = msgspec.json.decode((folder.path / FILE).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    return table if table.get("run") == folder.run_id and table.get("schema") == SCHEMA else {}


def recorded_confirmation(folder: RunFolder) -> Confirmation | None:
    """What was confirmed for this run before, for its report."""
    table = recorded_proof(folder)
    return msgspec.convert(table, Confirmation) if table else None


def recorded_areas(run: Path) -> Mapping[str, Sequence[float]]:
    """The areas under the pruning curves of a confirmed run, task by task."""
    areas: Mapping[str, Sequence[float]] = recorded_proof(RunFolder(run)).get("areas", {})
    if not areas:
        raise RecordsError(
            "no pruning curves were confirmed for this run.", where=str(run), hint="Run 'skillsv confirm' on it first."
        )
    return areas


TRANSCRIPTS = 200_000
"""Characters of transcripts that a page carries unless told otherwise."""


def publish(folder: RunFolder, run: Run) -> Path:
    """Write the answer and its page into the run folder; returns the page's path."""
    folder.write(folder.valuation.name, json.dumps(valuation_dict(run.valuation), indent=2).encode())
    return folder.write(folder.report.name, page_of(folder, run).encode("utf-8", errors="replace"))


def page_of(folder: RunFolder, run: Run, *, transcripts: int = TRANSCRIPTS) -> str:
    """The report page of a run with everything its folder knows, about so many characters of transcripts."""
    confirmation = recorded_confirmation(folder)
    return page(
        run.valuation,
        run.compiled,
        run.records,
        observations=run.observations,
        edits=whole_path(run),
        confirmation=confirmation,
        transcripts=readable_rollouts(folder, run, transcripts) if transcripts else (),
        limit=transcripts,
    )


def whole_path(run: Run) -> EditPlan:
    """The pruning path to its end: what the values promise for every length of the skill."""
    renderer = make_renderer(run.compiled, run.settings)
    return EditPlan(path=path_of(run, renderer), tokens=renderer.total_tokens)


def readable_rollouts(folder: RunFolder, run: Run, limit: int) -> tuple[Rollout, ...]:
    """The telling rollouts with their answers, from the ledger, about `limit` characters of them."""
    if not folder.ledger.exists():
        return ()
    read: list[Rollout] = []
    room = limit
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        for key in _telling_keys(run):
            rollout, detail = ledger.lookup([key]).get(key), ledger.detail(key)
            if rollout is None or detail is None:
                continue
            read.append(replace(rollout, answer=detail.answer, transcript=detail.transcript))
            room -= len(detail.transcript or detail.answer)
            if room <= 0:
                break
    return tuple(read)


def _telling_keys(run: Run) -> Iterator[RolloutKey]:
    """In chains, where a unit made the largest difference; in an adaptive run, the whole skill's worst tasks first."""
    agent, digests = run.manifest["agent"]["fingerprint"], run.manifest["panel_a"]
    replicate = {step.tree: record.plan.replicate for record in run.records for step in record.steps}
    for tree, task in telling_places(marginals_by_unit(run.records)):
        yield RolloutKey(tree=tree, task=digests.get(task, ""), agent=agent, replicate=replicate.get(tree, 0))
    everything = run.compiled.everything
    whole = [item for item in run.observations if item.coalition == everything and item.score is not None]
    tree = make_renderer(run.compiled, run.settings).render(everything, Operator.DELETE).digest if whole else ""
    for item in sorted(whole, key=lambda item: (item.score or 0.0, item.task, item.replicate)):
        yield RolloutKey(tree=tree, task=digests.get(item.task, ""), agent=agent, replicate=item.replicate)
