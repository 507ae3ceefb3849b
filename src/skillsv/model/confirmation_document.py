"""The JSON `skillsv.confirmation/1` as types. `docs/schema` is generated from them; `pipeline.confirm` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from skillsv.model.valuation_document import (
    AnchorsDocument,
    Count,
    Effect,
    EffectDocument,
    JsonValue,
    ScoreDocument,
    Share,
)


class CurvePointDocument(TypedDict):
    """The score of one partial skill on a pruning path."""

    share_removed: Annotated[Share, Meta(description="The share of the tokens that is removed, in [0, 1].")]
    tokens_left: Annotated[Count, Meta(description="The tokens that are left.")]
    score: Annotated[ScoreDocument, Meta(description="The score on the held-out tasks.")]


class CurveDocument(TypedDict):
    """The scores along the pruning path of one method."""

    method: Annotated[str, Meta(description="The method that ranked the units.")]
    points: Annotated[list[CurvePointDocument], Meta(description="From the full skill to the trigger alone.")]
    auc: Annotated[ScoreDocument, Meta(description="The area under the curve, a share in [0, 1].")]


class ComparisonDocument(TypedDict):
    """The area under one curve minus that under another."""

    first: Annotated[str, Meta(description="The first method.")]
    second: Annotated[str, Meta(description="The second method.")]
    difference: Annotated[EffectDocument, Meta(description="First minus second.")]


class AgreementDocument(TypedDict):
    """Kendall's tau-b of two rankings. Null where a ranking is one tie."""

    first: Annotated[str, Meta(description="The first method.")]
    second: Annotated[str, Meta(description="The second method.")]
    tau: Annotated[float | None, Meta(description="Tau-b, in [-1, 1].")]
    p: Annotated[float | None, Meta(description="Probability of so large a tau by chance, by permutations.")]
    p_holm: Annotated[float | None, Meta(description="The same, corrected for all pairs of rankings.")]


class GateDocument(TypedDict):
    """The limit that the proof was asked for."""

    max_drop: Annotated[Share, Meta(description="The loss of score that is allowed, a share in [0, 1].")]
    level: Annotated[Share, Meta(description="The confidence, a share in [0, 1].")]
    met: Annotated[bool, Meta(description="Whether it is shown that no more is lost.")]


class ConfirmationDocument(TypedDict):
    """Old skill against new on held-out tasks. Amounts of score are shares in [0, 1], never points of a hundred."""

    schema: Annotated[Literal["skillsv.confirmation/1"], Meta(description="The name and version of this format.")]
    tasks: Annotated[Count, Meta(description="The number of held-out tasks.")]
    old: Annotated[ScoreDocument, Meta(description="The score of the skill as it was valued.")]
    new: Annotated[ScoreDocument, Meta(description="The score of the new skill.")]
    delta: Annotated[EffectDocument, Meta(description="New minus old, task by task.")]
    tokens_old: Annotated[Count, Meta(description="The tokens of the skill as it was valued.")]
    tokens_new: Annotated[Count, Meta(description="The tokens of the new skill.")]
    curves: Annotated[list[CurveDocument], Meta(description="Pruning curves, where they were asked for.")]
    at_worst: Annotated[Effect, Meta(description="The lowest change that is not ruled out, a share in [-1, 1].")]
    max_drop: Annotated[Share | None, Meta(description="The loss that must be ruled out, a share in [0, 1].")]
    anchors: Annotated[AnchorsDocument, Meta(description="Scores of the bare agent, the trigger, the full skill.")]
    level: Annotated[Share, Meta(description="The confidence of all intervals, a share in [0, 1].")]
    replicates: Annotated[Count, Meta(description="Rollouts of each version on each task.")]
    left_out: Annotated[Count, Meta(description="Tasks without a score of some version.")]
    changed_tasks: Annotated[Count, Meta(description="Tasks with different scores of old and new.")]
    comparisons: Annotated[list[ComparisonDocument], Meta(description="Differences of the areas under the curves.")]
    agreements: Annotated[list[AgreementDocument], Meta(description="Rank agreement of the methods.")]
    areas: Annotated[dict[str, list[Share]], Meta(description="Areas under the curves by method, task by task.")]
    notes: Annotated[list[str], Meta(description="Sentences about the proof.")]
    outcome: Annotated[Literal["no worse", "not shown", "worse"], Meta(description="What is shown of the new skill.")]
    token_share: Annotated[float, Meta(ge=0, description="Tokens of the new skill divided by those of the old.")]
    gate: NotRequired[Annotated[GateDocument, Meta(description="The limit.")]]
    pooled: NotRequired[
        Annotated[list[ComparisonDocument], Meta(description="The methods over several skills, where asked for.")]
    ]
    concentration: NotRequired[
        Annotated[Share | None, Meta(description="The share of all gains in the best tenth of the units.")]
    ]
    run: NotRequired[Annotated[str, Meta(description="The run, in the file that a run folder keeps.")]]
    looks: NotRequired[Annotated[list[str], Meta(description="Digests of all versions compared on these tasks.")]]
    earlier: NotRequired[
        Annotated[list[dict[str, JsonValue]], Meta(description="Proofs of this run before this one, oldest first.")]
    ]
