"""The JSON `skillsv.shrink/1` as types; `docs/schema` is generated from them. `pipeline.shrink_documents` writes it."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from skillsv.model.valuation_document import Count, Effect, EffectDocument, ScoreDocument, Share

Outcome = Literal["no worse", "not shown", "worse", "nothing to remove"]
"""What a shrink shows."""


class ShrinkProofDocument(TypedDict):
    """The proof of one set: old skill against new, in pairs."""

    tasks: Annotated[Count, Meta(description="Distinct tasks.")]
    pairs: Annotated[Count, Meta(description="Pairs of rollouts; a task may have several, under null changes.")]
    old: Annotated[ScoreDocument, Meta(description="The score of the skill as it was.")]
    new: Annotated[ScoreDocument, Meta(description="The score of the shorter skill.")]
    delta: Annotated[EffectDocument, Meta(description="New minus old, task by task.")]
    at_worst: Annotated[Effect, Meta(description="The lowest change that is not ruled out, a share in [-1, 1].")]
    level: Annotated[Share, Meta(description="The confidence of this bound, corrected for the number of sets.")]
    lost: Annotated[list[str], Meta(description="Tasks whose score fell.")]
    gained: Annotated[list[str], Meta(description="Tasks whose score rose.")]


class ShrinkSetDocument(TypedDict):
    """A set of units that was proposed. `proof` is null where the budget did not reach it."""

    removed: Annotated[list[str], Meta(description="The units that go, in document order.")]
    tokens_after: Annotated[Count, Meta(description="The tokens of what is left.")]
    power: Annotated[Share, Meta(description="The forecast chance that the proof succeeds.")]
    predicted: Annotated[EffectDocument, Meta(description="The predicted change of the score.")]
    outcome: Annotated[Literal["no worse", "not shown", "worse"] | None, Meta(description="What its proof shows.")]
    proof: Annotated[ShrinkProofDocument | None, Meta(description="The proof.")]


class RunCostDocument(TypedDict):
    """What one rollout of the agent takes on average. Null: not known."""

    rollouts: Annotated[Count, Meta(description="Rollouts that this is the mean of.")]
    input_tokens: Annotated[float | None, Meta(description="Tokens that the agent read.")]
    output_tokens: Annotated[float | None, Meta(description="Tokens that the agent wrote.")]
    usd: Annotated[float | None, Meta(description="US dollars.")]
    seconds: Annotated[float | None, Meta(description="Seconds.")]


class ShrinkCostDocument(TypedDict):
    """A run of the agent with the old and with the new skill, on the tasks of the proof."""

    before: Annotated[RunCostDocument, Meta(description="With the skill as it was.")]
    after: Annotated[RunCostDocument, Meta(description="With the shorter skill.")]


class ShrinkRolloutsDocument(TypedDict):
    """What was spent."""

    budget: Annotated[Count, Meta(description="The limit of values, trials and proof together.")]
    values: Annotated[Count, Meta(description="Rollouts for values.")]
    trials: Annotated[Count, Meta(description="Rollouts of trials that find what a steady agent does not need.")]
    proof: Annotated[Count, Meta(description="Rollouts for the proof.")]
    judge: NotRequired[Annotated[Count, Meta(description="Questions to a judge; absent where none was asked.")]]


class ShrinkAgentSetDocument(TypedDict):
    """A proposed set for one of several agents. `proof` is null where another agent failed before, or the budget."""

    power: Annotated[Share, Meta(description="The forecast chance that the proof succeeds for this agent.")]
    predicted: Annotated[EffectDocument, Meta(description="The predicted change of this agent's score.")]
    outcome: Annotated[Literal["no worse", "not shown", "worse"] | None, Meta(description="What its proof shows.")]
    proof: Annotated[ShrinkProofDocument | None, Meta(description="The proof for this agent.")]


class ShrinkAgentDocument(TypedDict):
    """One of several agents that a skill was made shorter for."""

    name: Annotated[str, Meta(description="The name of the agent.")]
    spec: Annotated[str, Meta(description="The agent as the user named it.")]
    folder: Annotated[str, Meta(description="The folder of its run.")]
    noisy: Annotated[bool, Meta(description="Whether the agent answers differently where nothing changes.")]
    power: Annotated[Share, Meta(description="The chance to prove a set that loses nothing, for this agent.")]
    sets: Annotated[list[ShrinkAgentSetDocument], Meta(description="The sets, in the order of those of all agents.")]
    cost: Annotated[ShrinkCostDocument | None, Meta(description="What a run of this agent takes; null without proof.")]
    rollouts: Annotated[ShrinkRolloutsDocument, Meta(description="What was spent on this agent.")]


class ShrinkStopDocument(TypedDict):
    """Why nothing was proposed: too low odds of a proof, no set that could be proven, no difference, a limit that was
    reached, or an agent that fails.
    """

    reason: Annotated[str, Meta(description="What ended it, such as what the budget can prove.")]
    would_help: Annotated[
        list[str], Meta(description="What to do: flags, numbers of tasks, or sentences. Empty where nothing is known.")
    ]


class ShrinkDocument(TypedDict):
    """A shorter skill and its proof. Amounts of score are shares in [0, 1], never points of a hundred.

    With several agents `agents` says what is shown for each. A set is then no worse only if it is for every agent; its
    `power` is that for all agents together, `predicted` and `proof` are those of the agent that is worst off, and
    `noisy` means any agent.

    With `stopped`, nothing was proposed and there are no sets; `rollouts` holds what was spent. The outcome is
    `nothing to remove` where no set was found, and `not shown` where it ended earlier.
    """

    schema: Annotated[Literal["skillsv.shrink/1"], Meta(description="The name and version of this format.")]
    skill: Annotated[str, Meta(description="The name of the skill.")]
    outcome: Annotated[Outcome, Meta(description="What is shown of the shorter skill.")]
    claim: Annotated[Literal["tasks like these", "these tasks"], Meta(description="What the proof speaks about.")]
    max_drop: Annotated[Share, Meta(description="The loss of score that is allowed.")]
    units: NotRequired[Annotated[Count, Meta(description="The units of the skill that could go.")]]
    removed: Annotated[list[str], Meta(description="The units that go, where it is shown; else none.")]
    refined: Annotated[bool, Meta(description="Whether an editor rewrote what is left.")]
    tokens_before: Annotated[Count, Meta(description="The tokens of the skill.")]
    tokens_after: Annotated[Count, Meta(description="The tokens of the shorter skill.")]
    noisy: Annotated[bool, Meta(description="Whether the agent answers differently where nothing changes.")]
    power: Annotated[Share, Meta(description="The chance to prove a set that loses nothing, by the measured noise.")]
    sets: Annotated[list[ShrinkSetDocument], Meta(description="The sets that were proposed, the first one first.")]
    cost: Annotated[ShrinkCostDocument | None, Meta(description="What a run of the agent takes; null without proof.")]
    rollouts: Annotated[ShrinkRolloutsDocument, Meta(description="What was spent.")]
    notes: Annotated[list[str], Meta(description="Sentences about the plan, the choice and the proof.")]
    agents: NotRequired[
        Annotated[list[ShrinkAgentDocument], Meta(description="What is shown for each of several agents.")]
    ]
    stopped: NotRequired[
        Annotated[ShrinkStopDocument, Meta(description="Why nothing was proposed; absent where a set was.")]
    ]
    would_take: NotRequired[
        Annotated[str, Meta(description="What it would take to show the last set; absent where one passed.")]
    ]
