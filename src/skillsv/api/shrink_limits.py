"""Refuses a shrink whose limits do not even pay for the first batch. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.errors import SettingsError
from skillsv.model.format import count, plural
from skillsv.pipeline.shrink_plan import ShrinkGoal, first_batch_size
from skillsv.pipeline.shrink_preparation import PreparedShrink
from skillsv.rollout import PerRollout, RunFolder
from skillsv.rollout.forecast import Cost, cost_of
from skillsv.settings import Settings

PARTS_AFTER_FIRST = 4
"""Rollouts per task of the smallest proof, beside the first batch: two for the proof, as many to choose what goes."""


def least_rollouts(goal: ShrinkGoal, first: int) -> int:
    """The least budget with which a steady agent's proof can succeed."""
    return first + PARTS_AFTER_FIRST * goal.gate.tasks_needed()


def require_first_batch(shrink: PreparedShrink, folder: RunFolder, measured: PerRollout, agents: int = 1) -> None:
    """Raise SettingsError where the limits do not pay for the first batch of each of so many agents.

    The limits of `shrink` are the share of one agent. A batch that the run folder holds already costs nothing, so what
    it cost is compared with the other limits only where there is none.
    """
    first = first_batch_size(len(shrink.prepared.panel_a.tasks))
    of_each = f" of each of {agents} agents" if agents > 1 else ""
    its_share = "its share of " if agents > 1 else ""
    if shrink.goal.rollouts < first:
        least = agents * least_rollouts(shrink.goal, first)
        raise SettingsError(
            f"the first batch{of_each} takes {plural(first, 'rollout')}, and {its_share}--max-rollouts pays "
            f"for {count(shrink.goal.rollouts)}. Nothing was spent.",
            hint=f"Give --max-rollouts {least} or more: that can pay for a proof.",
        )
    settings = shrink.prepared.job.settings
    if folder.read_records().observations:
        return
    for limit, takes in _exceeded(settings, cost_of(first, measured, jobs=settings.jobs), agents):
        raise SettingsError(
            f"the first batch{of_each} takes about {takes} at the measured cost of a rollout, more than {limit} pays "
            "for. Nothing was spent.",
            hint="Raise this limit.",
        )


def _exceeded(settings: Settings, cost: Cost, agents: int) -> Iterator[tuple[str, str]]:
    """The limits that a cost exceeds, each with what it would take.

    The settings hold the share of one agent of tokens and money; the limit is named as the user gave it.
    """
    tokens, usd = settings.max_tokens, settings.budget_usd
    if tokens is not None and (cost.tokens or 0) > tokens:
        share = f"one agent's share ({count(tokens)}) of " if agents > 1 else ""
        yield f"{share}--max-tokens {agents * tokens}", f"{count(cost.tokens or 0)} tokens"
    if usd is not None and (cost.usd or 0.0) > usd:
        share = f"one agent's share (${usd:g}) of " if agents > 1 else ""
        yield f"{share}--budget-usd {agents * usd:g}", f"${cost.usd:,.2f}"
    if settings.max_seconds is not None and (cost.seconds or 0.0) > settings.max_seconds:
        yield f"--max-seconds {settings.max_seconds:g}", f"{cost.seconds:,.0f} s"
