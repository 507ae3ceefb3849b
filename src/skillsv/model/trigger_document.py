"""The JSON `skillsv.trigger/1` as types. `docs/schema` is generated from them; `api.trigger` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from skillsv.model.valuation_document import Count, EffectDocument, ScoreDocument, Share


class DecisionDocument(TypedDict):
    """What the agent decided on one request."""

    task: Annotated[str, Meta(description="The task.")]
    should_trigger: Annotated[bool, Meta(description="Whether the skill should be opened for it.")]
    opened: Annotated[Share, Meta(description="The share of rollouts in which the agent opened the skill.")]


class SentenceDocument(TypedDict):
    """One sentence of the description."""

    id: Annotated[str, Meta(description="The unit in the run folder.")]
    text: Annotated[str, Meta(description="The sentence.")]
    net: Annotated[EffectDocument, Meta(description="What it adds to the share of right decisions.")]
    verdict: Annotated[str, Meta(description="keep, delete, harmful or unresolved.")]


class TriggerDocument(TypedDict):
    """How well the description of a skill selects requests."""

    schema: Annotated[Literal["skillsv.trigger/1"], Meta(description="The name and version of this format.")]
    skill: Annotated[str, Meta(description="The name of the skill.")]
    agent: Annotated[str, Meta(description="The agent that decided.")]
    asked: Annotated[bool, Meta(description="Whether it was asked which skill it would open, without opening any.")]
    level: Annotated[float, Meta(description="The confidence level of the intervals.")]
    requests: Annotated[Count, Meta(description="Requests on which the agent has decided with the whole description.")]
    expected: Annotated[Count, Meta(description="Those of them that should open the skill.")]
    precision: Annotated[ScoreDocument | None, Meta(description="Right among opened; null where none was opened.")]
    recall: Annotated[ScoreDocument | None, Meta(description="Opened among expected; null where none is expected.")]
    decisions: Annotated[list[DecisionDocument], Meta(description="Every request.")]
    sentences: Annotated[list[SentenceDocument], Meta(description="The sentences of the description, in order.")]
    rollouts: Annotated[Count, Meta(description="Rollouts that were run.")]
    provisional: Annotated[bool, Meta(description="Whether the run ended early.")]
    notes: Annotated[list[str], Meta(description="Sentences about the run.")]
