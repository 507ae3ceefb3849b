"""What was proved for a run, as a file in its folder: `skillsv.confirmation/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillsv.confirm import Proof
from skillsv.errors import RecordsError
from skillsv.model.edit import Confirmation
from skillsv.rollout import RunFolder

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
