"""The JSON `skillsv.plan/1` as types. `docs/schema` is generated from them; `api.plan` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from skillsv.model.valuation_document import Count, Share


class CostDocument(TypedDict):
    """The cost of one case. Null means unknown."""

    rollouts: Annotated[Count, Meta(description="Rollouts of the agent.")]
    tokens: Annotated[Count | None, Meta(description="Tokens, input and output.")]
    usd: Annotated[float | None, Meta(description="Money in US dollars.")]
    seconds: Annotated[float | None, Meta(description="Time in seconds.")]


class ForecastDocument(TypedDict):
    """What a run will cost."""

    low: Annotated[CostDocument, Meta(description="The cost where little is needed.")]
    expected: Annotated[CostDocument, Meta(description="The usual cost.")]
    high: Annotated[CostDocument, Meta(description="The cost where much is needed.")]
    method: Annotated[str, Meta(description="The estimator: chain or auto.")]
    gammas: Annotated[
        list[float] | None, Meta(description="Shares of prefixes evaluated in the three cases; only for chains.")
    ]
    full_rollouts: Annotated[Count | None, Meta(description="R_full of the paper; only for chains.")]
    cost_ratio: Annotated[float | None, Meta(description="R / R_full of the usual case; only for chains.")]


class AgentShares(TypedDict):
    """A share for either kind of agent."""

    deterministic: Annotated[Share, Meta(description="For an agent that repeats itself.")]
    noisy: Annotated[Share, Meta(description="For a noisy agent.")]


class BudgetDocument(TypedDict):
    """What so many rollouts buy."""

    rollouts: Annotated[Count, Meta(description="Rollouts for values.")]
    decided: Annotated[AgentShares, Meta(description="The expected share of units that get a verdict.")]
    power: Annotated[
        AgentShares, Meta(description="The chance to prove a skill without a loss, with as many rollouts again.")
    ]


class RejectedTaskDocument(TypedDict):
    """A task that a benchmark cannot score."""

    id: Annotated[str, Meta(description="The task.")]
    why: Annotated[str, Meta(description="The reason.")]


class PlanDocument(ForecastDocument):
    """What a valuation, or a benchmark, will cost. Nothing was spent."""

    schema: Annotated[Literal["skillsv.plan/1"], Meta(description="The name and version of this format.")]
    units: Annotated[Count, Meta(description="Units of the skill, the trigger included.")]
    measured_gamma: NotRequired[
        Annotated[float | None, Meta(description="The share of prefixes that an earlier run evaluated.")]
    ]
    skill_tokens: NotRequired[Annotated[Count, Meta(description="Tokens of all text files of the skill.")]]
    budgets: NotRequired[Annotated[list[BudgetDocument], Meta(description="What each budget buys; only for auto.")]]
    rejected: NotRequired[
        Annotated[list[RejectedTaskDocument], Meta(description="Tasks that a benchmark cannot score.")]
    ]
