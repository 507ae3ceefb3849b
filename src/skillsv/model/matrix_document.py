"""The JSON `skillsv.matrix/1` as types. `docs/schema` is generated from them; `pipeline.matrix` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from skillsv.model.confirmation_document import AgreementDocument
from skillsv.model.valuation_document import (
    AnchorsDocument,
    Count,
    EffectDocument,
    RolloutsDocument,
    Share,
    SkillSummary,
    UsageDocument,
)

AgentEffect = Literal["helps", "harms", "none", "open"]
"""What is shown of a unit for one agent; `none`: too little to matter; `open`: not known yet."""

UnitPattern = Literal["helps all", "helps some", "disagree", "harms some", "harms all", "none", "open"]
"""What is shown of a unit for all agents together. `disagree`: it helps one agent and harms another."""


class MatrixAgentDocument(TypedDict):
    """One agent. Without values (`error` says why) there are no anchors, and its cells are missing."""

    name: Annotated[str, Meta(description="The name of the agent in this document.")]
    spec: Annotated[str, Meta(description="The agent as its run records it.")]
    folder: Annotated[str, Meta(description="The run folder of this agent.")]
    noisy: Annotated[bool, Meta(description="Whether the agent answers differently where nothing changes.")]
    provisional: Annotated[bool, Meta(description="Whether its run is not finished.")]
    error: Annotated[str | None, Meta(description="What ended its run early, or why it has no values.")]
    anchors: Annotated[AnchorsDocument | None, Meta(description="Scores of the bare agent, the trigger, the skill.")]
    content_lift: Annotated[EffectDocument | None, Meta(description="The score of the skill minus the trigger's.")]
    rollouts: Annotated[RolloutsDocument | None, Meta(description="Numbers of rollouts of this agent.")]
    usage: Annotated[UsageDocument | None, Meta(description="Tokens and money of this agent.")]


class MatrixCellDocument(TypedDict):
    """What one unit is worth to one agent."""

    agent: Annotated[str, Meta(description="The name of the agent.")]
    net: Annotated[EffectDocument, Meta(description="The net effect on these tasks.")]
    effect: Annotated[AgentEffect, Meta(description="What is shown of it.")]
    verdict: Annotated[str, Meta(description="What to do with the unit, for this agent alone.")]


class MatrixUnitDocument(TypedDict):
    """One unit of the skill for all agents."""

    id: Annotated[str, Meta(description="The stable name of the unit.")]
    file: Annotated[str, Meta(description="The file that contains it, relative to the skill.")]
    lines: Annotated[list[int], Meta(min_length=2, max_length=2, description="First and last line, counted from 1.")]
    section: Annotated[list[str], Meta(description="The titles of the headings above it.")]
    tokens: Annotated[Count, Meta(description="The tokens of its text.")]
    text: Annotated[str, Meta(description="The text of the unit.")]
    cells: Annotated[list[MatrixCellDocument], Meta(description="One cell for each agent that has values.")]
    pattern: Annotated[
        UnitPattern,
        Meta(description="What is shown for all agents together; `disagree`: it helps one agent and harms another."),
    ]
    disagree: Annotated[
        bool,
        Meta(
            description="Whether a difference between the values of two agents is shown, also of the same sign. Its "
            "name is older than `differ`, which holds the same; opposite signs are the pattern `disagree`."
        ),
    ]
    differ: NotRequired[
        Annotated[
            bool,
            Meta(
                description="Whether a difference between the values of two agents is shown, also of the same sign. "
                "Absent in documents of earlier versions."
            ),
        ]
    ]
    spread: Annotated[float, Meta(description="The largest difference between two agents, a share of 1.")]


class PredictedChangeDocument(TypedDict):
    """What a shorter skill is predicted to change for one agent."""

    agent: Annotated[str, Meta(description="The name of the agent.")]
    change: Annotated[EffectDocument, Meta(description="The predicted change of the score on these tasks.")]


class MatrixSkillDocument(TypedDict):
    """The smallest skill that is predicted to lose no more than `max_drop` for some agents. Nothing is proved yet."""

    agents: Annotated[list[str], Meta(description="The agents that it is for.")]
    removed: Annotated[list[str], Meta(description="The units that go, in document order.")]
    tokens_after: Annotated[Count, Meta(description="The tokens of what is left.")]
    predicted: Annotated[list[PredictedChangeDocument], Meta(description="The predicted change for each agent.")]


class MatrixDocument(TypedDict):
    """What each unit of a skill is worth to each of several agents. Amounts of score are shares in [0, 1]."""

    schema: Annotated[Literal["skillsv.matrix/1"], Meta(description="The name and version of this format.")]
    skill: Annotated[SkillSummary, Meta(description="The skill that was valued.")]
    tasks: Annotated[Count, Meta(description="The tasks that values were estimated on; the same for all agents.")]
    level: Annotated[Share, Meta(description="The confidence level of the intervals.")]
    max_drop: Annotated[Share, Meta(description="The loss that a shorter skill is predicted to stay below.")]
    agents: Annotated[list[MatrixAgentDocument], Meta(description="The agents, in the order that they were given.")]
    units: Annotated[list[MatrixUnitDocument], Meta(description="All units with a value, in document order.")]
    agreements: Annotated[list[AgreementDocument], Meta(description="Rank agreement of each pair of agents.")]
    shared: Annotated[MatrixSkillDocument, Meta(description="The smallest skill that is no worse for all agents.")]
    for_each: Annotated[list[MatrixSkillDocument], Meta(description="The smallest skill for each agent alone.")]
    notes: Annotated[list[str], Meta(description="Sentences about the runs.")]
