"""The JSON `skillsv.check/1` as types. `docs/schema` is generated from them; `api.check` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from skillsv.model.compiled_document import FindingDocument
from skillsv.model.valuation_document import Count, Effect, EffectDocument, ScoreDocument, Share

CheckOutcome = Literal["no worse", "not shown", "worse"]
"""What is shown of a changed skill."""

LineRange = Annotated[tuple[int, int], Meta(description="First and last line, counted from 1.")]
"""A range of lines."""


class EditDocument(TypedDict):
    """Neighbouring lines that differ. `file`: a file that is no text, or too large to compare its lines."""

    kind: Annotated[Literal["deleted", "changed", "added", "file"], Meta(description="What happened to the lines.")]
    file: Annotated[str, Meta(description="The file, relative to the skill.")]
    base_lines: Annotated[LineRange | None, Meta(description="The lines in the base version; null if added.")]
    lines: Annotated[LineRange | None, Meta(description="The lines in the new version; null if deleted.")]
    at: Annotated[int, Meta(description="The line of the new version where it happened, counted from 1.")]
    text: Annotated[str, Meta(description="The first of these lines in the base version.")]
    new_text: Annotated[str, Meta(description="The first of these lines in the new version.")]


class CheckFindingDocument(FindingDocument):
    """A finding of lint in the new version."""

    new: Annotated[bool, Meta(description="Whether the base version does not have it.")]


class TaskChangeDocument(TypedDict):
    """The mean scores of one task."""

    task: Annotated[str, Meta(description="The id of the task.")]
    old: Annotated[Share, Meta(description="The score with the base version.")]
    new: Annotated[Share, Meta(description="The score with the new version.")]
    pairs: Annotated[Count, Meta(description="Pairs of rollouts on this task.")]


class CheckProofDocument(TypedDict):
    """The base version against the new one, in pairs."""

    tasks: Annotated[Count, Meta(description="Distinct tasks.")]
    pairs: Annotated[Count, Meta(description="Pairs of rollouts; a task may have several, under null changes.")]
    old: Annotated[ScoreDocument, Meta(description="The score of the base version.")]
    new: Annotated[ScoreDocument, Meta(description="The score of the new version.")]
    delta: Annotated[EffectDocument, Meta(description="New minus old, task by task.")]
    at_worst: Annotated[Effect, Meta(description="Lower bound of the change: 'no worse' needs it above -max_drop.")]
    at_best: Annotated[Effect, Meta(description="Upper bound of the change: 'worse' needs it below -max_drop.")]
    lost: Annotated[list[TaskChangeDocument], Meta(description="Tasks whose score fell, the largest loss first.")]
    gained: Annotated[list[TaskChangeDocument], Meta(description="Tasks whose score rose, the largest gain first.")]


class CheckedSkillDocument(TypedDict):
    """A skill that differs from the base."""

    path: Annotated[str, Meta(description="Its path in the repository.")]
    folder: Annotated[str, Meta(description="The folder in the repository that its files are relative to.")]
    name: Annotated[str, Meta(description="The name of the skill.")]
    status: Annotated[Literal["new", "changed", "deleted"], Meta(description="What happened to it.")]
    outcome: Annotated[CheckOutcome | None, Meta(description="What is shown; null where nothing was to be shown.")]
    tokens_before: Annotated[Count | None, Meta(description="The tokens of the base version; null if new.")]
    tokens_after: Annotated[Count | None, Meta(description="The tokens of the new version; null if deleted.")]
    units_before: Annotated[Count | None, Meta(description="The units of the base version; null if new.")]
    units_after: Annotated[Count | None, Meta(description="The units of the new version; null if deleted.")]
    edits: Annotated[list[EditDocument], Meta(description="The lines that differ.")]
    findings: Annotated[list[CheckFindingDocument], Meta(description="The findings of lint in the new version.")]
    too_long: Annotated[bool, Meta(description="Whether it grew above the limit of tokens.")]
    proof: Annotated[CheckProofDocument | None, Meta(description="The proof, where there is one.")]
    error: Annotated[str | None, Meta(description="Why the proof ended early; null where it did not.")]
    notes: Annotated[list[str], Meta(description="Sentences about this skill.")]


class CheckRolloutsDocument(TypedDict):
    """What the rollouts were."""

    budget: Annotated[Count, Meta(description="The limit of all skills together; 0 where none were to be run.")]
    new: Annotated[Count, Meta(description="Rollouts that were run and paid for.")]
    reused: Annotated[Count, Meta(description="Rollouts that the cache held.")]
    usd: Annotated[float | None, Meta(description="What they cost in US dollars; null where not known.")]


class CheckDocument(TypedDict):
    """The check of a change. Amounts of score are shares in [0, 1], never points of a hundred."""

    schema: Annotated[Literal["skillsv.check/1"], Meta(description="The name and version of this format.")]
    base: Annotated[str, Meta(description="The base as it was named.")]
    commit: Annotated[str, Meta(description="The commit that was compared with.")]
    outcome: Annotated[CheckOutcome | None, Meta(description="The worst outcome of all skills; null without a proof.")]
    claim: Annotated[
        Literal["tasks like these", "these tasks"],
        Meta(description="What 'no worse' speaks about; 'worse' always speaks about these tasks."),
    ]
    max_drop: Annotated[Share, Meta(description="The loss of score that is allowed.")]
    level: Annotated[Share, Meta(description="The confidence of 'no worse'; 'worse' has a hundredth of its error.")]
    skills: Annotated[list[CheckedSkillDocument], Meta(description="The skills that differ, by path.")]
    rollouts: Annotated[CheckRolloutsDocument, Meta(description="What was run.")]
    exit_code: Annotated[Count, Meta(description="The exit code of the command.")]
    notes: Annotated[list[str], Meta(description="Sentences about the check.")]
