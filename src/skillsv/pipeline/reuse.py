"""What a run says about stored rollouts: how many it reused, since when, and what their keys do not cover."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from skillsv.agents import not_checked
from skillsv.model.format import count, plural
from skillsv.model.protocols import Agent
from skillsv.rollout import Ledger
from skillsv.rollout.stored_rollouts import ReusableRollouts, matching_keys, sort_rollouts

FURTHER_INPUTS = "forwarded values, relative imports, folder arguments, helper scripts, --depends-on, the judge"
"""What the endings of keys cover, and a run with `--reuse-unchecked` does not compare."""


def take_over(ledger: Ledger, agent: str, tasks: Collection[str]) -> str | None:
    """Copy rollouts with other inputs to the keys of this run, and say so. The stored ones stay."""
    taken = ledger.copy_rollouts(matching_keys(ledger.groups(), agent, tasks))
    if not taken:
        return None
    return f"Took over {plural(taken, 'stored rollout')} without checking {FURTHER_INPUTS}."


def describe_others(ledger: Ledger, agent: str, tasks: Collection[str]) -> str | None:
    """The sentence about stored rollouts of this agent that have other inputs; None where there are none."""
    found = sort_rollouts(ledger.groups(), agent, tasks)
    if not found.other_inputs:
        return None
    return (
        f"{_are_stored(found.other_inputs)} with other inputs ({FURTHER_INPUTS}), or by an earlier version that did "
        "not check these. They are kept and not reused; --reuse-unchecked takes them over."
    )


def _are_stored(number: int) -> str:
    return f"{plural(number, 'rollout')} of this agent {'is' if number == 1 else 'are'} stored"


def describe_reuse(ledger: Ledger, spec: str, agent: Agent) -> str | None:
    """The sentence about the stored rollouts that this session reused; None where it reused none."""
    reused = ledger.reused[agent.fingerprint]
    if not reused.rollouts:
        return None
    unchecked = f" ({count(reused.taken_over)} of them taken over unchecked)" if reused.taken_over else ""
    missing = not_checked(spec, agent)
    ending = f"; not checked: {missing}." if missing else "."
    return f"Reused {plural(reused.rollouts, 'stored rollout')}{unchecked}, {_since(reused.since)}{ending}"


def _since(time: int | None) -> str:
    if time is None:
        return "saved by a version that stored no dates"
    return f"the oldest of {datetime.fromtimestamp(time, UTC).date().isoformat()}"


def explain_stored(found: ReusableRollouts) -> list[str]:
    """Sentences for `status`: which stored rollouts are reused, and why others are not."""
    lines = [f"Stored for this agent and these tasks: {count(found.reusable)}, {_since(found.since)}."]
    reasons = {
        f"their inputs differ ({FURTHER_INPUTS}); --reuse-unchecked takes them over": found.other_inputs,
        "the task, its files or its verifier differ": found.other_tasks,
        "the agent, its settings or its files differ": found.other_agents,
    }
    return lines + [f"Not reused: {count(number)}, because {reason}." for reason, number in reasons.items() if number]
