"""The JSON `skillsv.bench/1` as types. `docs/schema` is generated from them; `results` writes them."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from skillsv.model.confirmation_document import ConfirmationDocument
from skillsv.model.plan_document import RejectedTaskDocument
from skillsv.model.valuation_document import (
    AnchorsDocument,
    ClosureDocument,
    Count,
    EffectDocument,
    IntervalDocument,
    JsonValue,
    ScoreDocument,
    SectionDocument,
    Share,
    SkillSummary,
    UnitDocument,
)


class PanelsDocument(TypedDict):
    """The numbers of tasks."""

    a: Annotated[Count, Meta(description="Tasks that values were estimated on.")]
    b: Annotated[Count, Meta(description="Held-out tasks.")]


class ValuesDocument(TypedDict):
    """The part of `skillsv.valuation/1` that tables and figures need."""

    anchors: Annotated[AnchorsDocument, Meta(description="Scores of the bare agent, the trigger, the full skill.")]
    trigger_value: Annotated[EffectDocument, Meta(description="The score of the trigger minus that of the bare agent.")]
    content_lift: Annotated[EffectDocument, Meta(description="The score of the full skill minus that of the trigger.")]
    closure: Annotated[ClosureDocument, Meta(description="The check that the values add up.")]
    units: Annotated[list[UnitDocument], Meta(description="All units with a value, in document order.")]
    sections: Annotated[list[SectionDocument], Meta(description="Sums of net effects below the headings.")]
    chains: Annotated[Count, Meta(description="The number of chains; 0 for the adaptive method.")]
    truncation_share: Annotated[Share | None, Meta(description="The share of prefixes evaluated before truncation.")]
    missing: Annotated[Count, Meta(description="Scores that are missing, because rollouts failed.")]


class LooClosureDocument(TypedDict):
    """The values of leave-one-out, and whether they add up to the content lift."""

    sum: Annotated[IntervalDocument, Meta(description="The sum of the values of leave-one-out, a share of 1.")]
    ratio: Annotated[float | None, Meta(description="The sum divided by the lift; null for a lift of zero.")]
    covered: Annotated[bool, Meta(description="Whether the interval of the sum contains the lift.")]
    tasks: Annotated[Count, Meta(description="Tasks that leave-one-out was scored on.")]
    units: Annotated[dict[str, IntervalDocument], Meta(description="The value of each unit, a share of 1.")]


class RankingDocument(TypedDict):
    """The ranking of the judge model."""

    units: Annotated[dict[str, IntervalDocument], Meta(description="The judge's number for each unit.")]


class VersionDocument(TypedDict):
    """One version of a skill on the validation split."""

    name: Annotated[str, Meta(description="The name of the version.")]
    tokens: Annotated[Count, Meta(description="Its tokens.")]
    score: Annotated[ScoreDocument, Meta(description="Its score.")]


class SelectionDocument(TypedDict):
    """The choice of one version by the scores on the validation split."""

    tasks: Annotated[Count, Meta(description="Tasks of the validation split.")]
    versions: Annotated[list[VersionDocument], Meta(description="All versions.")]
    chosen: Annotated[str, Meta(description="The name of the chosen version.")]


class ConfirmedSelectionDocument(SelectionDocument):
    """A choice among pruned versions, with its proof."""

    confirmation: Annotated[
        ConfirmationDocument | None, Meta(description="The chosen version on panel B; null for the full skill.")
    ]


class RefinementDocument(TypedDict):
    """The refined skill on held-out tasks."""

    tokens_before: Annotated[Count, Meta(description="Tokens of the skill as it was valued.")]
    tokens_after: Annotated[Count, Meta(description="Tokens of the refined skill.")]
    confirmation: Annotated[ConfirmationDocument, Meta(description="Its proof.")]


class SecondScoreDocument(TypedDict):
    """The second metric of one version on one panel."""

    panel: Annotated[str, Meta(description="The panel.")]
    version: Annotated[str, Meta(description="The version of the skill.")]
    second: Annotated[IntervalDocument, Meta(description="The second metric, in its own unit.")]
    score: Annotated[Share, Meta(description="The score on the same tasks, a share in [0, 1].")]
    tasks: Annotated[Count, Meta(description="Tasks where the second metric is known.")]


class SecondMetricDocument(TypedDict):
    """A metric beside the score, such as the number of steps."""

    name: Annotated[str, Meta(description="The name of the metric.")]
    title: Annotated[str, Meta(description="The title in tables.")]
    scores: Annotated[list[SecondScoreDocument], Meta(description="One row for each panel and version.")]


class ResultsDocument(TypedDict):
    """A benchmark run by the paper's protocol. Amounts of score are shares in [0, 1], never points of a hundred."""

    schema: Annotated[Literal["skillsv.bench/1"], Meta(description="The name and version of this format.")]
    benchmark: Annotated[str, Meta(description="The name of the benchmark.")]
    title: Annotated[str, Meta(description="The title of the benchmark.")]
    split: Annotated[str, Meta(description="The split of the tasks.")]
    rejected: Annotated[list[RejectedTaskDocument], Meta(description="Tasks that cannot be scored.")]
    turns: Annotated[Count, Meta(description="The turns that the agent may take.")]
    skill: Annotated[SkillSummary, Meta(description="The skill that was valued.")]
    agent: Annotated[str, Meta(description="The agent.")]
    settings: Annotated[dict[str, JsonValue], Meta(description="The settings that change results.")]
    panels: Annotated[PanelsDocument, Meta(description="The numbers of tasks.")]
    valuation: Annotated[ValuesDocument, Meta(description="The values of the units.")]
    total_lift: Annotated[IntervalDocument, Meta(description="Score of the full skill minus the bare agent, a share.")]
    closure_loo: Annotated[LooClosureDocument, Meta(description="Leave-one-out for comparison.")]
    judge: Annotated[RankingDocument | None, Meta(description="The judge's ranking; null without a judge.")]
    held_out: Annotated[ConfirmationDocument, Meta(description="The pruned skill and the curves on panel B.")]
    concentration: Annotated[Share | None, Meta(description="The share of all gains in the best tenth of the units.")]
    skill_selection: Annotated[SelectionDocument | None, Meta(description="The choice among given skills.")]
    selection: Annotated[ConfirmedSelectionDocument | None, Meta(description="The choice among pruned versions.")]
    refinement: Annotated[RefinementDocument | None, Meta(description="The refined skill; null without an editor.")]
    second_metric: Annotated[SecondMetricDocument | None, Meta(description="A metric beside the score.")]
    notes: Annotated[list[str], Meta(description="Sentences about the run.")]
