"""`skillsv status`: prints how far a run is and what it has spent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json
from skillsv.model.format import count, duration, money
from skillsv.model.rollout import Usage

if TYPE_CHECKING:
    from skillsv.rollout import Status


def status(run: Annotated[Path, Parameter(help="The folder of a run.")], /, *, json: Json = False) -> int:
    """skillsv status .skillsv/my-skill

    Say how far a run is and what it has spent: while it runs, and afterwards.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.pipeline.publish import recorded_confirmation
    from skillsv.pipeline.reuse import explain_stored
    from skillsv.report.sentences import proof_sentence
    from skillsv.rollout import RunFolder

    folder = RunFolder(run)
    found = folder.status()
    proof = recorded_confirmation(folder)
    said = None if proof is None else proof_sentence(proof)
    if json:
        table = {"schema": "skillsv.status/1", "proof": said, **asdict(found), "total": asdict(found.total)}
        deliver(json_text(table), None)
        return 0
    chains = "" if found.planned is None else f", {found.chains} of {found.planned} chains done"
    lines = [
        *([] if said is None else [said]),
        f"Run {found.run}: {'running' if found.running else 'not running'}{chains}.",
        f"Rollouts: {count(found.rollouts)} paid, {count(found.reused)} reused, {count(found.missing)} missing.",
        f"Spent: {_spent(found.usage)}, agent time {duration(found.seconds)}.",
        *_command_lines(found),
        *explain_stored(found.stored),
        *([f"Answers cut by the token limit: {count(found.cut)}."] if found.cut else []),
        *(["Provisional: the run is not finished."] if found.provisional else []),
        *(f"Missing as {kind}: {count}." for kind, count in found.failures.items()),
    ]
    deliver("\n".join(lines) + "\n", None)
    return 0


def _spent(usage: Usage) -> str:
    tokens = "unknown" if usage.input_tokens is None else count(usage.input_tokens + (usage.output_tokens or 0))
    cost = "unknown" if usage.usd is None else money(usage.usd)
    return f"tokens {tokens}, cost {cost}"


def _command_lines(found: Status) -> Iterator[str]:
    """What later commands spent, and all of them with the valuation."""
    for name, spent in found.commands.items():
        yield f"Spent by {name}: {count(spent.rollouts)} rollouts or calls, {_spent(spent.usage)}."
    if found.commands:
        yield f"In all: {count(found.total.rollouts)} rollouts or calls, {_spent(found.total.usage)}."
