"""`skillsv status`: prints how far a run is and what it has spent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json
from skillsv.model.format import count, duration, money, plural
from skillsv.model.rollout import Usage

if TYPE_CHECKING:
    from skillsv.rollout import RunFolder, Status
    from skillsv.rollout.earlier_runs import EarlierRun


def status(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    earlier: Annotated[bool, Parameter(negative=(), help="List the earlier runs of this folder, too.")] = False,
    json: Json = False,
) -> int:
    """skillsv status .skillsv/my-skill

    Say how far a run is and what it has spent: while it runs, and afterwards.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.pipeline.publish import recorded_confirmation
    from skillsv.pipeline.reuse import explain_stored
    from skillsv.report.sentences import proof_sentence
    from skillsv.rollout import RunFolder
    from skillsv.rollout.earlier_runs import list_earlier_runs

    folder = RunFolder(run)
    found = folder.status()
    proof = recorded_confirmation(folder)
    said = None if proof is None else proof_sentence(proof)
    others = list_earlier_runs(run) if earlier else []
    if json:
        more = {"earlier": [asdict(other) for other in others]} if earlier else {}
        table = {"schema": "skillsv.status/1", "proof": said, **asdict(found), "total": asdict(found.total), **more}
        deliver(json_text(table), None)
        return 0
    chains = "" if found.planned is None else f", {found.chains} of {found.planned} chains done"
    lines = [
        *([] if said is None else [said]),
        f"Run {found.run}: {_state(found)}{chains}.",
        f"Rollouts: {count(found.rollouts)} paid, {count(found.reused)} reused, {count(found.missing)} missing.",
        f"Spent: {_spent(found.usage)}, agent time {duration(found.seconds)}.",
        *_command_lines(found),
        *explain_stored(found.stored),
        *([f"Answers cut by the token limit: {count(found.cut)}."] if found.cut else []),
        *(_continue_lines(folder, found) if found.provisional and not found.running else []),
        *(f"Missing as {kind}: {count}." for kind, count in found.failures.items()),
        *(_describe(other) for other in others),
        *(["No earlier runs in this folder."] if earlier and not others else []),
    ]
    deliver("\n".join(lines) + "\n", None)
    return 0


def _describe(run: EarlierRun) -> str:
    state = "valued" if run.valued else "not valued"
    tasks, rollouts = plural(run.tasks, "task"), plural(run.rollouts, "rollout")
    return f"Earlier run {run.name}: {run.ended}, {run.agent}, {tasks}, {rollouts} paid, {state}."


def _state(status: Status) -> str:
    """Running, finished, or stopped before its end."""
    if status.running:
        return "running"
    return "stopped before its end" if status.provisional else "finished"


def _continue_lines(folder: RunFolder, status: Status) -> list[str]:
    """How to continue a run that stopped: what is paid for is kept."""
    from skillsv.pipeline.run import read_manifest
    from skillsv.pipeline.run_facts import continue_command

    command = continue_command(read_manifest(folder), str(folder.path), status.rollouts + status.reused)
    if not command:
        return ["Provisional: the run is not finished. Call 'value' again with the same arguments to continue it."]
    return ["Provisional: the run is not finished. Continue it; what was paid for is kept:", f"  {command}"]


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
