"""The JSON `skillsv.valuation/1` as types. `docs/schema` is generated from them; `report.valuation_json` writes them.

Amounts of score are shares, never points: the bounds of the schema refuse a document in points.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

ROUNDING = 1e-6
"""How far rounding may move a mean of shares out of [0, 1]."""

LARGEST_EFFECT = 2
"""The largest amount of an effect: a context cost is the difference of two effects in [-1, 1]."""

Share = Annotated[float, Meta(ge=-ROUNDING, le=1 + ROUNDING)]
"""A share in [0, 1], such as a score."""

Effect = Annotated[float, Meta(ge=-LARGEST_EFFECT, le=LARGEST_EFFECT)]
"""A difference of scores, a share in [-1, 1]; for context costs in [-2, 2]."""

Count = Annotated[int, Meta(ge=0)]
"""A number of things."""

JsonValue = Annotated[
    object, Meta(extra_json_schema={"type": ["null", "boolean", "number", "string", "array", "object"]})
]
"""Any JSON value."""


class IntervalDocument(TypedDict):
    """A sum of amounts of score with its confidence interval, as shares of 1. A number that is not known is null."""

    value: Annotated[float | None, Meta(description="The estimate, a share of 1. Null where there is none yet.")]
    low: Annotated[float | None, Meta(description="The lower bound, a share of 1.")]
    high: Annotated[float | None, Meta(description="The upper bound, a share of 1.")]


class ScoreDocument(TypedDict):
    """A score with its confidence interval: shares in [0, 1]. A number that is not known is null."""

    value: Annotated[Share | None, Meta(description="The score, a share in [0, 1].")]
    low: Annotated[Share | None, Meta(description="The lower bound, a share in [0, 1].")]
    high: Annotated[Share | None, Meta(description="The upper bound, a share in [0, 1].")]


class EffectDocument(TypedDict):
    """A difference of scores with its confidence interval: shares in [-1, 1], context costs in [-2, 2]."""

    value: Annotated[Effect | None, Meta(description="The difference of scores, a share. Null where not known.")]
    low: Annotated[Effect | None, Meta(description="The lower bound, a share; without a value, of its range.")]
    high: Annotated[Effect | None, Meta(description="The upper bound, a share; without a value, of its range.")]


class SkillSummary(TypedDict):
    """The skill that was valued."""

    name: Annotated[str, Meta(description="The name of the skill.")]
    digest: Annotated[str, Meta(description="Identifies the files and the options of the compiler.")]
    main: Annotated[str, Meta(description="The main Markdown file.")]
    units: Annotated[Count, Meta(description="Units, the trigger included.")]
    execution_units: Annotated[Count, Meta(description="Units without the trigger.")]
    edges: Annotated[Count, Meta(description="Dependencies between units.")]
    tokens: Annotated[Count, Meta(description="Tokens of all text files.")]
    files: Annotated[Count, Meta(description="Files of the skill.")]


class AnchorsDocument(TypedDict):
    """The scores that values are measured between."""

    empty: Annotated[ScoreDocument, Meta(description="The bare agent, without the skill.")]
    trigger: Annotated[ScoreDocument, Meta(description="The trigger alone.")]
    full: Annotated[ScoreDocument, Meta(description="The full skill.")]


class ClosureDocument(TypedDict):
    """The check that the values add up to the content lift."""

    sum: Annotated[IntervalDocument, Meta(description="The sum of the net effects of all units.")]
    lift: Annotated[EffectDocument, Meta(description="The content lift that was measured.")]
    ratio: Annotated[float | None, Meta(description="The sum divided by the lift; null for a lift of about zero.")]
    covered: Annotated[bool, Meta(description="Whether sum and lift agree within their intervals.")]


class ReachedDocument(TypedDict):
    """What only one unit leads a reader to: a file is worth 0 without it, so its value is part of the unit's."""

    files: Annotated[list[str], Meta(description="The paths of the files.")]
    units: Annotated[list[str], Meta(description="The ids of the units of these files.")]
    net: Annotated[float | None, Meta(description="The net effect of the unit with these units, a sum; a share of 1.")]


class UnitDocument(TypedDict):
    """One unit of the skill: where it is, what it is worth, and what to do with it."""

    id: Annotated[str, Meta(description="The stable name of the unit.")]
    kind: Annotated[str, Meta(description="The kind of the unit, such as item, block or resource.")]
    form: Annotated[str, Meta(description="Its form in Markdown, such as bullet or table.")]
    file: Annotated[str, Meta(description="The file that contains it, relative to the skill.")]
    span: Annotated[list[int], Meta(min_length=2, max_length=2, description="First byte and the byte after the last.")]
    lines: Annotated[list[int], Meta(min_length=2, max_length=2, description="First and last line, counted from 1.")]
    section: Annotated[list[str], Meta(description="The titles of the headings above it.")]
    tokens: Annotated[Count, Meta(description="The tokens of its text.")]
    needs: Annotated[list[str], Meta(description="The ids of the units that it depends on directly.")]
    content: Annotated[EffectDocument | None, Meta(description="The content value; null without the operator pad.")]
    cost: Annotated[EffectDocument | None, Meta(description="The context cost; null without the operator pad.")]
    net: Annotated[EffectDocument, Meta(description="The net effect on tasks like these: content minus cost.")]
    net_panel: Annotated[EffectDocument, Meta(description="The same value; the interval is about these tasks alone.")]
    plain: Annotated[EffectDocument | None, Meta(description="The net effect with the paper's bootstrap interval.")]
    standard_error: Annotated[float | None, Meta(description="The standard error of the net effect, a share of 1.")]
    evidence: Annotated[
        Literal["positive", "negative", "negligible", "idle", "expendable", "unresolved", "identical"],
        Meta(description="What the interval of the net effect shows."),
    ]
    samples: Annotated[Count, Meta(description="Chains, or rollouts with or without the unit, whichever are fewer.")]
    verdict: Annotated[
        Literal["keep", "compress", "delete", "expendable", "idle", "harmful", "unresolved"],
        Meta(description="What to do with the unit."),
    ]
    reason: Annotated[str, Meta(description="The reason for the verdict, in one sentence.")]
    text: Annotated[str, Meta(description="The text of the unit.")]
    reaches: Annotated[ReachedDocument | None, Meta(description="What only this unit leads to; null for nothing.")]


class SectionDocument(TypedDict):
    """The sum of the net effects below one heading."""

    path: Annotated[list[str], Meta(description="The titles of the headings, from the top.")]
    net: Annotated[IntervalDocument, Meta(description="The sum of the net effects, a share of 1.")]


class ChainCostDocument(TypedDict):
    """What the chains cost by the paper's formula, and what they would have cost without any saving."""

    gamma: Annotated[Share, Meta(description="The share of prefixes evaluated before truncation.")]
    rollouts: Annotated[Count, Meta(description="R in the paper: the rollouts of the chains.")]
    full_rollouts: Annotated[Count | None, Meta(description="R_full: the same orders on the whole panel, untruncated.")]
    ratio: Annotated[float | None, Meta(description="R / R_full.")]


class RolloutsDocument(TypedDict):
    """Numbers of rollouts."""

    spent: Annotated[Count, Meta(description="Rollouts that this run paid for.")]
    reused: Annotated[Count, Meta(description="Rollouts taken from the ledger.")]
    failed: Annotated[Count, Meta(description="Rollouts without a score, because the infrastructure failed.")]
    cut: Annotated[Count, Meta(description="Answers that the token limit ended.")]
    forecast: Annotated[Count | None, Meta(description="Rollouts that were forecast.")]


class UsageDocument(TypedDict):
    """Tokens and money that were used. Null means unknown."""

    input_tokens: Annotated[Count | None, Meta(description="Tokens that the model read.")]
    output_tokens: Annotated[Count | None, Meta(description="Tokens that the model wrote.")]
    usd: Annotated[float | None, Meta(description="Money in US dollars.")]


class ProofSummaryDocument(TypedDict):
    """The last proof of a shorter skill on held-out tasks; confirmation.json of the run folder holds all of them."""

    outcome: Annotated[str, Meta(description="What is shown: no worse, worse, or not shown.")]
    sentence: Annotated[str, Meta(description="The same in words, with the scores in points.")]
    tasks: Annotated[Count, Meta(description="The number of held-out tasks.")]
    old: Annotated[Share | None, Meta(description="The score of the valued skill, a share in [0, 1].")]
    new: Annotated[Share | None, Meta(description="The score of the new skill, a share in [0, 1].")]


class ValuationDocument(TypedDict):
    """What each unit of a skill is worth. Amounts of score are shares in [0, 1], never points of a hundred."""

    schema: Annotated[Literal["skillsv.valuation/1"], Meta(description="The name and version of this format.")]
    proof: NotRequired[
        Annotated[ProofSummaryDocument | None, Meta(description="The last proof on held-out tasks; null for none.")]
    ]
    skill: Annotated[SkillSummary, Meta(description="The skill that was valued.")]
    settings: Annotated[dict[str, JsonValue], Meta(description="The settings of the run, and its agent.")]
    method: Annotated[str, Meta(description="The estimator: chain or auto.")]
    provisional: Annotated[bool, Meta(description="Whether the run is not finished.")]
    anchors: Annotated[AnchorsDocument, Meta(description="Scores of the bare agent, the trigger, the full skill.")]
    trigger_value: Annotated[EffectDocument, Meta(description="The score of the trigger minus that of the bare agent.")]
    content_lift: Annotated[EffectDocument, Meta(description="The score of the full skill minus that of the trigger.")]
    closure: Annotated[ClosureDocument, Meta(description="The check that the values add up.")]
    units: Annotated[list[UnitDocument], Meta(description="All units with a value, in document order.")]
    sections: Annotated[list[SectionDocument], Meta(description="Sums of net effects below the headings.")]
    chains: Annotated[Count, Meta(description="The number of chains; 0 for the adaptive method.")]
    truncation_share: Annotated[Share | None, Meta(description="The share of prefixes evaluated before truncation.")]
    chain_cost: Annotated[ChainCostDocument | None, Meta(description="The cost of chains; null for other methods.")]
    full_digests: Annotated[dict[str, str], Meta(description="Digest of the full skill by operator. All are equal.")]
    resolution: Annotated[Share | None, Meta(description="The smallest net effect of interest, a share in [0, 1].")]
    missing: Annotated[Count, Meta(description="Scores that are missing, because rollouts failed.")]
    rollouts: Annotated[RolloutsDocument, Meta(description="Numbers of rollouts.")]
    usage: Annotated[UsageDocument, Meta(description="Tokens and money of all rollouts.")]
    notes: Annotated[list[str], Meta(description="Sentences about the run.")]
