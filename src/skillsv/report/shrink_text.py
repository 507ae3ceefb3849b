"""The result of a shrink in words: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillsv.model.format import count, money, percent, plural, points, short_points
from skillsv.model.shrink_document import RunCostDocument, ShrinkDocument, ShrinkProofDocument, ShrinkSetDocument
from skillsv.report.escape import escape_line

MOST_NAMED = 8
"""Tasks and units that a sentence names."""


def shrink_lines(result: ShrinkDocument) -> list[str]:
    """The result in sentences: what is shown first, then the proofs, then the cost of an agent run."""
    return [_headline(result), *_proof_lines(result), *_cost_lines(result)]


def _headline(result: ShrinkDocument) -> str:
    before, after = result["tokens_before"], result["tokens_after"]
    where = _where(result)
    limit = short_points(result["max_drop"])
    match result["outcome"]:
        case "no worse":
            gone = plural(len(result["removed"]), "unit")
            share = percent(1 - after / before if before else 0.0)
            return (
                f"No worse: {gone} can go. {count(after)} of {count(before)} tokens stay ({share} fewer), and {where} "
                f"the score drops by less than {limit} points."
            )
        case "worse":
            return f"Worse: {where} the shorter skill loses score. Nothing was deleted."
        case "not shown":
            return f"Not shown: the shorter skill may lose more than {limit} points {where}. Nothing was deleted."
        case _:
            return "Nothing to remove: no set of units has a fair chance to be proven. Nothing was deleted."


def _where(result: ShrinkDocument) -> str:
    return "on these tasks" if result["claim"] == "these tasks" else "on tasks like these"


def _proof_lines(result: ShrinkDocument) -> Iterator[str]:
    for number, proposed in enumerate(result["sets"], start=1):
        proof = proposed["proof"]
        if proof is None:
            continue
        name = "" if len(result["sets"]) == 1 else f"Set {number} ({count(proposed['tokens_after'])} tokens left): "
        yield name + _proof_line(proposed, proof)
        if proposed["outcome"] != "no worse" and proof["lost"]:
            yield f"Tasks that lost score: {_named(proof['lost'])}."


def _proof_line(proposed: ShrinkSetDocument, proof: ShrinkProofDocument) -> str:
    delta = proof["delta"]
    change = f"{points(delta['value'])} [{points(delta['low'])}, {points(delta['high'])}]"
    return (
        f"{proposed['outcome']}. {plural(proof['pairs'], 'pair')} on {plural(proof['tasks'], 'task')}: change "
        f"{change} points, at worst {points(proof['at_worst'])} with {percent(proof['level'])} confidence "
        f"(forecast power {percent(proposed['power'])})."
    )


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _cost_lines(result: ShrinkDocument) -> Iterator[str]:
    cost = result["cost"]
    if cost is not None:
        yield f"A run of the agent before: {_cost(cost['before'])}. After: {_cost(cost['after'])}."
    spent = result["rollouts"]
    yield (
        f"Rollouts: {count(spent['values'])} for values, {count(spent['proof'])} for the proof, of "
        f"{count(spent['budget'])}."
    )


def _cost(cost: RunCostDocument) -> str:
    known = [
        f"{count(round(tokens))} {name} tokens"
        for name, tokens in (("input", cost["input_tokens"]), ("output", cost["output_tokens"]))
        if tokens is not None
    ]
    if cost["usd"]:
        known.append(money(cost["usd"], digits=4))
    return ", ".join(known) if known else "tokens unknown"


def shrink_markdown(result: ShrinkDocument) -> str:
    """The result as Markdown for a pull request."""
    before, after = result["tokens_before"], result["tokens_after"]
    lines = [f"## Shorter skill: {escape_line(result['skill'])}", "", _headline(result), ""]
    lines += ["| | before | after |", "|---|--:|--:|", f"| tokens of the skill | {count(before)} | {count(after)} |"]
    proven = next((one for one in result["sets"] if one["outcome"] == "no worse"), None)
    proof = None if proven is None else proven["proof"]
    if proof is not None:
        old, new = (points(proof[name]["value"], signed=False) for name in ("old", "new"))
        lines.append(f"| score on {plural(proof['tasks'], 'task')} | {old} | {new} |")
    cost = result["cost"]
    if cost is not None:
        for name, label in (("input_tokens", "input"), ("output_tokens", "output")):
            old, new = (_amount(cost[side][name]) for side in ("before", "after"))  # type: ignore[literal-required]
            lines.append(f"| {label} tokens of an agent run | {old} | {new} |")
    lines += ["", *(f"- {line}" for line in _proof_lines(result))]
    if result["removed"]:
        lines += ["", "Removed units:", "", *(f"- `{unit}`" for unit in result["removed"])]
    return "\n".join(lines) + "\n"


def _amount(amount: float | None) -> str:
    return "unknown" if amount is None else count(round(amount))
