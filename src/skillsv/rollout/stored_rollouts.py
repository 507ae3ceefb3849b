"""Which rollouts of a ledger can be reused, and why others cannot: groups of rollouts by task digest and agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from skillsv.model.fingerprint import first_part


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """Scored rollouts with one task digest and one agent fingerprint. `since` is when the oldest was saved.

    Times are seconds since 1970. None: a version of SkillSV saved it that did not store the time.
    """

    task: str
    agent: str
    rollouts: int
    since: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusableRollouts:
    """The scored rollouts of a ledger, sorted by what a run with this agent and these tasks may do with them.

    - `reusable`: same agent, same task; reused where the rendering and the replicate are the same.
    - `other_inputs`: same first parts of the keys, other endings (see `skillsv.model.fingerprint`).
    - `other_tasks`: same agent; the task, its files or its verifier are other ones.
    - `other_agents`: another agent, other settings of it, or its files have changed.
    """

    reusable: int = 0
    other_inputs: int = 0
    other_tasks: int = 0
    other_agents: int = 0
    since: int | None = None


def sort_rollouts(groups: Iterable[StoredGroup], agent: str, tasks: Collection[str]) -> ReusableRollouts:
    """Sort the rollouts of a ledger for a run with this agent fingerprint and these task digests."""
    counts = dict.fromkeys(("reusable", "other_inputs", "other_tasks", "other_agents"), 0)
    first_parts = {first_part(task) for task in tasks}
    times: list[int] = []
    for group in groups:
        if group.agent == agent and group.task in tasks:
            kind = "reusable"
            times += [] if group.since is None else [group.since]
        elif first_part(group.agent) != first_part(agent):
            kind = "other_agents"
        else:
            kind = "other_inputs" if first_part(group.task) in first_parts else "other_tasks"
        counts[kind] += group.rollouts
    return ReusableRollouts(**counts, since=min(times, default=None))


def matching_keys(
    groups: Iterable[StoredGroup], agent: str, tasks: Collection[str]
) -> dict[tuple[str, str], tuple[str, str]]:
    """For each group with other inputs, its task digest and fingerprint, and those of this run."""
    by_first_part = {first_part(task): task for task in tasks}
    keys = {}
    for group in groups:
        task = by_first_part.get(first_part(group.task))
        if task is not None and first_part(group.agent) == first_part(agent):
            keys[group.task, group.agent] = (task, agent)
    return {old: new for old, new in keys.items() if old != new}
