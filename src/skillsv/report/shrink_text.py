"""The result of a shrink in words: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skillsv.model.format import count, money, percent, plural, points, short_points
from skillsv.model.shrink_document import (
    RunCostDocument,
    ShrinkAgentDocument,
    ShrinkAgentSetDocument,
    ShrinkCostDocument,
    ShrinkDocument,
    ShrinkProofDocument,
    ShrinkSetDocument,
)
from skillsv.report.escape import escape_line
from skillsv.report.markdown import code

Show = Callable[[str], str]
"""How names of agents and tasks, which may hold anything, are shown."""

MOST_NAMED = 8
"""Tasks and units that a sentence names."""


def shrink_lines(result: ShrinkDocument) -> list[str]:
    """The result in sentences: what is shown first, then the proofs, then the cost of an agent run."""
    return [_headline(result, escape_line), *_proof_lines(result, escape_line), *_cost_lines(result)]


def _headline(result: ShrinkDocument, show: Show) -> str:
    before, after = result["tokens_before"], result["tokens_after"]
    where = _where(result)
    limit, agents = short_points(result["max_drop"]), result.get("agents", ())
    whom = f" for each of {len(agents)} agents" if agents else ""
    match result["outcome"]:
        case "no worse":
            gone = plural(len(result["removed"]), "unit")
            if len(result["removed"]) == result.get("units"):
                gone = f"the agent does as well without the content of the skill. All {gone}"
            share = percent(1 - after / before if before else 0.0)
            return (
                f"No worse{whom}: {gone} can go. {count(after)} of {count(before)} tokens stay ({share} fewer), and "
                f"{where} the score drops by less than {limit} points."
            )
        case "worse":
            return f"Worse{_failing(result, show)}: {where} the shorter skill loses score. Nothing was deleted."
        case "not shown":
            failing = _failing(result, show)
            return (
                f"Not shown{failing}: the shorter skill may lose more than {limit} points {where}. Nothing was deleted."
            )
        case _:
            stopped = result.get("stopped")
            reason = stopped["reason"] if stopped else "no set of units has a fair chance to be proven"
            helpful = f" It may help: {'; '.join(stopped['would_help'])}." if stopped else ""
            return f"Nothing to remove: {reason}. Nothing was deleted.{helpful}"


def _failing(result: ShrinkDocument, show: Show) -> str:
    """The agents whose last proof failed, as part of a sentence; nothing where there is one agent."""
    names = [
        show(agent["name"])
        for agent in result.get("agents", ())
        if [one["outcome"] for one in agent["sets"] if one["outcome"]][-1:] not in ([], ["no worse"])
    ]
    return f" for {', '.join(names)}" if names else ""


def _where(result: ShrinkDocument) -> str:
    return "on these tasks" if result["claim"] == "these tasks" else "on tasks like these"


def _proof_lines(result: ShrinkDocument, show: Show) -> Iterator[str]:
    tried = sum(one["outcome"] is not None for one in result["sets"])
    for number, proposed in enumerate(result["sets"]):
        name = "" if tried == 1 else f"Set {number + 1} ({count(proposed['tokens_after'])} tokens left): "
        for agent, one in _proved(result, number):
            proof, whom = one["proof"], f"{show(agent)}: " if agent else ""
            if proof is None:
                continue
            yield name + whom + _proof_line(one, proof)
            if one["outcome"] != "no worse" and proof["lost"]:
                yield f"{whom}Tasks that lost score: {_named(proof['lost'], show)}."
    if "would_take" in result:
        yield result["would_take"]
    if result["outcome"] != "no worse":
        for proposed in result["sets"][max(tried, 1) :]:
            yield (
                f"A smaller set ({count(proposed['tokens_after'])} tokens left) was not tried: the proof before it "
                "left no rollouts."
            )


def _proved(result: ShrinkDocument, number: int) -> Iterator[tuple[str, ShrinkSetDocument | ShrinkAgentSetDocument]]:
    """A set with its proof, or with that of each of several agents beside the agent's name."""
    agents = result.get("agents")
    if agents is None:
        yield "", result["sets"][number]
        return
    for agent in agents:
        yield agent["name"], agent["sets"][number]


def _proof_line(proposed: ShrinkSetDocument | ShrinkAgentSetDocument, proof: ShrinkProofDocument) -> str:
    delta = proof["delta"]
    change = f"{points(delta['value'])} [{points(delta['low'])}, {points(delta['high'])}]"
    return (
        f"{proposed['outcome']}. {plural(proof['pairs'], 'pair')} on {plural(proof['tasks'], 'task')}: change "
        f"{change} points, at worst {points(proof['at_worst'])} with {percent(proof['level'])} confidence "
        f"(forecast power {percent(proposed['power'])})."
    )


def _named(names: Sequence[str], show: Show) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(map(show, names[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _cost_lines(result: ShrinkDocument) -> Iterator[str]:
    for agent, cost in _costs(result):
        whom = f"{escape_line(agent)}: " if agent else ""
        yield f"{whom}A run of the agent before: {_cost(cost['before'])}. After: {_cost(cost['after'])}."
    spent = result["rollouts"]
    judge = f"{count(spent['judge'])} for the judge, " if "judge" in spent else ""
    trials = f"{count(spent['trials'])} for trials, " if spent["trials"] else ""
    yield (
        f"Rollouts: {count(spent['values'])} for values, {judge}{trials}{count(spent['proof'])} for the proof, of "
        f"{count(spent['budget'])}."
    )


def _costs(result: ShrinkDocument) -> Iterator[tuple[str, ShrinkCostDocument]]:
    """What a run of the agent takes, or of each of several agents beside the agent's name."""
    agents: Sequence[ShrinkAgentDocument] = result.get("agents", ())
    rows = [(agent["name"], agent["cost"]) for agent in agents] or [("", result["cost"])]
    for name, cost in rows:
        if cost is not None:
            yield name, cost


def _cost(cost: RunCostDocument) -> str:
    known = [
        f"{count(round(tokens))} {name} tokens"
        for name, tokens in (("input", cost["input_tokens"]), ("output", cost["output_tokens"]))
        if tokens is not None
    ]
    if cost["usd"]:
        known.append(money(cost["usd"], digits=4))
    return ", ".join(known) if known else "tokens unknown"


MARKDOWN_MARK = "## Shorter skill: "
"""The beginning of the Markdown of a result, by which it is known."""


def shrink_markdown(result: ShrinkDocument) -> str:
    """The result as Markdown for a pull request."""
    before, after = result["tokens_before"], result["tokens_after"]
    lines = [f"{MARKDOWN_MARK}{code(result['skill'])}", "", _headline(result, code), ""]
    lines += ["| | before | after |", "|---|--:|--:|", f"| tokens of the skill | {count(before)} | {count(after)} |"]
    proven = next((number for number, one in enumerate(result["sets"]) if one["outcome"] == "no worse"), None)
    for agent, one in () if proven is None else _proved(result, proven):
        proof = one["proof"]
        if proof is not None:
            old, new = (points(proof[name]["value"], signed=False) for name in ("old", "new"))
            lines.append(f"| {_cell(agent)}score on {plural(proof['tasks'], 'task')} | {old} | {new} |")
    for agent, cost in _costs(result):
        for name, label in (("input_tokens", "input"), ("output_tokens", "output")):
            old, new = (_amount(cost[side][name]) for side in ("before", "after"))  # type: ignore[literal-required]
            lines.append(f"| {_cell(agent)}{label} tokens of an agent run | {old} | {new} |")
    lines += ["", *(f"- {line}" for line in _proof_lines(result, code))]
    if result["removed"]:
        lines += ["", "Removed units:", "", *(f"- {code(unit)}" for unit in result["removed"])]
    return "\n".join(lines) + "\n"


def _cell(agent: str) -> str:
    return f"{code(agent)}: " if agent else ""


def _amount(amount: float | None) -> str:
    return "unknown" if amount is None else count(round(amount))
