"""A proof in sentences, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.confirmation import Gate, Proof
from skillsv.errors import GateNotMet
from skillsv.model.edit import ProofOutcome
from skillsv.model.format import decimal, percent, points, short_points, with_bounds
from skillsv.report.sentences import proof_sentence


def proof_lines(proof: Proof) -> Iterator[str]:
    """The proof in sentences: what it shows first, then curves, agreement, notes."""
    yield proof_sentence(proof.confirmation)
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


def certainty_line(proof: Proof) -> str:
    """What the change may be at worst."""
    if proof.at_worst == 0.0 and not proof.changed_tasks:
        return "Old and new give the agent the same bytes: nothing can change."
    moved = "no task" if not proof.changed_tasks else f"{proof.changed_tasks} of {proof.confirmation.tasks} tasks"
    worst = f"{points(abs(proof.at_worst), signed=False)} points"
    sure = f"at worst {worst} worse" if proof.at_worst < 0 else f"better by at least {worst}"
    return f"The score of {moved} changed; with {percent(proof.level)} confidence the new skill is {sure}."


def require_gate(proof: Proof, gate: Gate) -> None:
    """Raise GateNotMet where "no worse than the gate's drop" is not shown."""
    if proof.meets(gate):
        return
    if proof.confirmation.outcome is ProofOutcome.WORSE:
        raise GateNotMet(
            f"the new skill is worse: {points(proof.confirmation.delta.value)} points on "
            f"{proof.confirmation.tasks} held-out tasks.",
            hint="Keep the old skill, or remove less.",
        )
    raise GateNotMet(
        f"not shown to be within {short_points(gate.max_drop)} points: at {percent(gate.level)} confidence the new "
        f"skill may be {points(-proof.at_worst, signed=False)} points worse ({proof.confirmation.tasks} tasks).",
        hint="More tasks in panel B narrow this; --max-drop sets the limit.",
    )
