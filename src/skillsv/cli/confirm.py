"""`skillsv confirm`: compares the old and the new skill on held-out tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from skillsv.cli.flags import Json, given_share
from skillsv.cli.spending_flags import SpendingFlags
from skillsv.errors import GateNotMet, SettingsError
from skillsv.model.format import count, decimal, percent, points, short_points, with_bounds

if TYPE_CHECKING:
    from skillsv.confirmation import Comparison, Gate, Proof
    from skillsv.pipeline import PreparedConfirmation

DEFAULT_CURVES = ("skillsv", "loo", "random")
"""Methods whose pruning curves are drawn unless --curves names others."""


def confirm(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    skill: Annotated[Path | None, Parameter(help="The new skill [the run's own, pruned by its verdicts].")] = None,
    max_drop: Annotated[float | None, Parameter(help="Fail unless it is shown that no more points are lost.")] = None,
    level: Annotated[float, Parameter(help="Confidence level, in percent or as a share.")] = 95,
    curves: Annotated[
        str | None, Parameter(help="Pruning curves: of skillsv,loo,judge,random,skillsv-pairs; 'none' for none.")
    ] = None,
    checkpoints: Annotated[int, Parameter(help="Checkpoints of each curve between its ends.")] = 10,
    replicates: Annotated[int | None, Parameter(help="Rollouts per task and version [1, or 3 if noisy].")] = None,
    pool: Annotated[
        tuple[Path, ...], Parameter(negative=(), help="Other runs, confirmed before, to pool the curves with.")
    ] = (),
    json: Json = False,
    spending: SpendingFlags | None = None,
) -> int:
    """skillsv confirm .skillsv/my-skill --skill my-shorter-skill --max-drop 5 --yes

    Compare old and new on panel B, the tasks that no value has seen, each scored in full. Without --skill the new skill
    is the run's own, pruned by its verdicts, and pruning curves are drawn beside it. With --max-drop the exit code is 3
    unless "no worse than that" is shown. The same command again resumes.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.confirmation import Gate, concentration
    from skillsv.pipeline import ConfirmJob, confirm_versions, prepare_confirmation, proof_dict

    flags = spending or SpendingFlags()
    share = level_as_share(level)
    drop = given_share(max_drop, "--max-drop")
    gate = None if drop is None else Gate(max_drop=drop, level=share)
    job = ConfirmJob(
        run=run,
        overrides=flags.overrides(),
        skill=skill,
        curves=_curves(curves, with_skill=skill is not None),
        checkpoints=checkpoints,
        replicates=replicates,
        level=share,
    )
    prepared = prepare_confirmation(job)
    flags.consent(prepared.forecast, gate_advice(prepared, gate))
    proof = flags.spend(lambda listener, stop: confirm_versions(prepared, listener, stop))
    save_proof(prepared, proof)
    pooled = _pool(proof, pool)
    top_share = concentration({unit.id: unit.value.net_or_zero.value for unit in prepared.reopened.run.valuation.units})
    table: dict[str, Any] = {
        **proof_dict(proof),
        "gate": _gate_table(proof, gate),
        "pooled": list(map(asdict, pooled)),
    }
    table["concentration"] = top_share
    lines = (*proof_lines(proof), *_pooled_lines(pooled, 1 + len(pool)), *_concentration_lines(top_share))
    deliver(json_text(table) if json else "".join(f"{line}\n" for line in lines), None)
    if gate is not None:
        require_gate(proof, gate)
    return 0


def level_as_share(level: float) -> float:
    """A level as a share: 95 and 0.95 are the same."""
    return level / 100 if level >= 1 else level


def _curves(text: str | None, *, with_skill: bool) -> tuple[str, ...]:
    if text is None:
        return () if with_skill else DEFAULT_CURVES
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not names:
        raise SettingsError("--curves names no method.", hint="Say 'none' for no curves.")
    return () if names == ("none",) else names


def gate_advice(prepared: PreparedConfirmation, gate: Gate | None) -> list[str]:
    """A sentence for the time before anything is spent, where the panel is too small for the gate."""
    from skillsv.confirmation import smallest_drop

    tasks = len(prepared.panel.tasks)
    if gate is None or prepared.versions.same or tasks >= gate.tasks_needed():
        return []
    least = points(smallest_drop(tasks, gate.level), signed=False)
    said = f"If not a single score changes, {tasks} tasks rule out a drop of {least} points and no less"
    return [f"{said}: the gate of {short_points(gate.max_drop)} points then needs {gate.tasks_needed()} tasks."]


def save_proof(prepared: PreparedConfirmation, proof: Proof) -> None:
    """Write the proof into the run folder, and draw the run's page again with it."""
    from skillsv.pipeline import keep_proof, publish

    keep_proof(prepared, proof)
    publish(prepared.reopened.folder, prepared.reopened.run)


def require_gate(proof: Proof, gate: Gate) -> None:
    """Raise GateNotMet where "no worse than the gate's drop" is not shown."""
    if not proof.meets(gate):
        raise GateNotMet(
            f"not shown to be within {short_points(gate.max_drop)} points: at {percent(gate.level)} confidence the new "
            f"skill may be {points(-proof.at_worst, signed=False)} points worse ({proof.confirmation.tasks} tasks).",
            hint="More tasks in panel B narrow this; --max-drop sets the limit.",
        )


def _gate_table(proof: Proof, gate: Gate | None) -> dict[str, Any] | None:
    if gate is None:
        return None
    return {"max_drop": gate.max_drop, "level": gate.level, "met": proof.meets(gate)}


def _pool(proof: Proof, others: tuple[Path, ...]) -> tuple[Comparison, ...]:
    """The methods compared over this skill and those of other confirmed runs, each skill with equal weight."""
    from skillsv.confirmation import pooled_comparisons
    from skillsv.pipeline import recorded_areas

    if not others:
        return ()
    return pooled_comparisons([proof.areas, *(recorded_areas(other) for other in others)], level=proof.level)


def _pooled_lines(found: tuple[Comparison, ...], skills: int) -> Iterator[str]:
    for each in found:
        gain = with_bounds(each.difference)
        yield f"Over {skills} skills, {each.first} against {each.second}: {gain} points of area."


def _concentration_lines(best: float | None) -> Iterator[str]:
    if best is not None:
        yield f"On panel A, the best tenth of the units hold {percent(best)} of all that is gained."


def proof_lines(proof: Proof) -> Iterator[str]:
    """The proof in sentences: the confirmation line first, then curves, agreement, notes."""
    yield confirmation_line(proof)
    yield certainty_line(proof)
    anchors = proof.anchors
    yield (
        f"Anchors on panel B: no skill {with_bounds(anchors.empty, signed=False)}, trigger alone "
        f"{with_bounds(anchors.trigger, signed=False)}, whole skill {with_bounds(anchors.full, signed=False)}."
    )
    for curve in proof.confirmation.curves:
        yield f"Area under the pruning curve, {curve.method}: {with_bounds(curve.auc, signed=False)}."
    for each in proof.comparisons:
        yield f"{each.first} against {each.second}: {with_bounds(each.difference)} points of area."
    for pair in proof.agreements:
        if pair.tau is not None and pair.p_holm is not None:
            tau, p = decimal(pair.tau, digits=2, signed=True), decimal(pair.p_holm, digits=3)
            yield f"Rank agreement of {pair.first} and {pair.second}: tau-b {tau}, p {p} (permutations, Holm)."
    for note in proof.notes:
        yield f"Note: {note}"


def confirmation_line(proof: Proof) -> str:
    """Tokens in percent, old and new score, and the change with its interval."""
    found = proof.confirmation
    share = found.tokens_new / found.tokens_old if found.tokens_old else 1.0
    return (
        f"Confirmed on {found.tasks} tasks no value has seen: tokens {percent(share)} ({count(found.tokens_new)} of "
        f"{count(found.tokens_old)}), score {points(found.old.value, signed=False)} before, "
        f"{points(found.new.value, signed=False)} after, change {with_bounds(found.delta)} points."
    )


def certainty_line(proof: Proof) -> str:
    """What the change may be at worst."""
    if proof.at_worst == 0.0 and not proof.changed_tasks:
        return "Old and new give the agent the same bytes: nothing can change."
    moved = "no task" if not proof.changed_tasks else f"{proof.changed_tasks} of {proof.confirmation.tasks} tasks"
    worst = f"{points(abs(proof.at_worst), signed=False)} points"
    sure = f"at worst {worst} worse" if proof.at_worst < 0 else f"better by at least {worst}"
    return f"The score of {moved} changed; with {percent(proof.level)} confidence the new skill is {sure}."
