"""Numbers and verdicts in the words an author uses: points of score, one sentence for each answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from skillsv.model.skill import Extent, UnitKind
from skillsv.model.value import Action, Interval, UnitReport, Valuation
from skillsv.report.escape import escape_text, place, shortened

MARK = {
    Action.KEEP: "●",
    Action.COMPRESS: "◐",
    Action.DELETE: "○",
    Action.HARMFUL: "▼",
    Action.UNRESOLVED: "?",
}
"""A shape for each verdict, so that colour is never alone in carrying it."""

_MARKUP = re.compile(r"^\s*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+|>\s*|#+\s+|\|\s*|```\w*\s*|<!--\s*)|[*`]{1,3}|__")
_SPACE = re.compile(r"\s+")


def points(value: float | None, *, signed: bool = True, digits: int = 1) -> str:
    """A share of the score as points of a hundred: 0.123 is +12.3."""
    if value is None or not math.isfinite(value):
        return "–"
    scaled = round(100 * value, digits) + 0.0  # the sum turns -0.0 into 0.0
    return f"{scaled:{'+' if signed and scaled else ''}.{digits}f}".replace("-", "−")


def bounds(interval: Interval, *, signed: bool = True) -> str:
    """The two ends of an interval in points."""
    return f"[{points(interval.low, signed=signed)}, {points(interval.high, signed=signed)}]"


def with_bounds(interval: Interval, *, signed: bool = True) -> str:
    """A value in points with its interval."""
    return f"{points(interval.value, signed=signed)} {bounds(interval, signed=signed)}"


def drawn(interval: Interval) -> Interval:
    """The interval as a figure can draw it: within -1..1, an unknown end as far out as it goes."""

    def end(value: float, unknown: float) -> float:
        return max(-1.0, min(1.0, value)) if not math.isnan(value) else unknown

    return Interval(end(interval.value, 0.0), end(interval.low, -1.0), end(interval.high, 1.0))


def reach_of(intervals: Iterable[Interval]) -> float:
    """The largest distance from zero that any end of the intervals has: half the width of a shared axis."""
    ends = [abs(end) for interval in map(drawn, intervals) for end in (interval.low, interval.high)]
    return max(ends, default=0.0) or 1.0


def plural(number: int, noun: str) -> str:
    """A count with its noun: 1 unit, 2,304 rollouts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def label(unit: UnitReport, length: int = 60) -> str:
    """A unit's first words without Markdown, for a row of a table."""
    if unit.kind is UnitKind.TRIGGER:
        return "trigger (frontmatter)"
    if unit.kind is UnitKind.RESOURCE:
        return shortened(escape_text(unit.file), length)
    first = next((line for line in unit.text[: 20 * length].splitlines() if line.strip(" \t`-|:")), unit.id)
    plain = escape_text(_MARKUP.sub("", first)).strip(" |").replace(" | ", " · ")
    return shortened(_SPACE.sub(" ", plain) or unit.id, length)


def where(unit: UnitReport) -> str:
    """Where a unit is: `SKILL.md:12-14`."""
    return place(Extent(file=unit.file, span=unit.span, lines=unit.lines))


def execution(valuation: Valuation) -> tuple[UnitReport, ...]:
    """The units that values are given to: all but the trigger."""
    return tuple(unit for unit in valuation.units if unit.kind is not UnitKind.TRIGGER)


def removable(valuation: Valuation) -> tuple[UnitReport, ...]:
    """The units whose verdict is to go: dead weight and harm."""
    return tuple(unit for unit in execution(valuation) if unit.verdict.action in {Action.DELETE, Action.HARMFUL})


def total_tokens(valuation: Valuation) -> int:
    """The length of the whole skill, as rendered where that is known, else the sum of its units."""
    return int(valuation.skill.get("tokens") or sum(unit.tokens for unit in valuation.units))


def notes(valuation: Valuation) -> tuple[str, ...]:
    """What a reader should know besides the numbers, each note once."""
    return tuple(dict.fromkeys((*valuation.notes, *valuation.estimate.notes)))


def carriers(valuation: Valuation, share: float = 0.9) -> int:
    """How few units, best first, hold that share of the positive value."""
    gains = sorted((unit.value.net.value for unit in execution(valuation) if unit.value.net.value > 0), reverse=True)
    goal, total = share * sum(gains), 0.0
    for count, gain in enumerate(gains, start=1):
        total += gain
        if total >= goal:
            return count
    return 0


def lift_sentence(valuation: Valuation) -> str:
    """The answer: what the skill's body adds, with its interval."""
    estimate = valuation.estimate
    full, base = (points(anchor.value, signed=False) for anchor in (estimate.anchors.full, estimate.anchors.trigger))
    lift = estimate.content_lift
    if lift.covers(0.0):
        return f"No lift shown: {full} with the skill, {base} with its trigger alone ({with_bounds(lift)} points)."
    change = "lifts" if lift.value > 0 else "lowers"
    return f"The skill {change} the score from {base} to {full}: {with_bounds(lift)} points."


def carry_sentence(valuation: Valuation) -> str:
    """How concentrated the value is."""
    units = len(execution(valuation))
    count = carriers(valuation)
    if not count:
        return f"None of its {plural(units, 'unit')} has a positive value."
    verb = "carries" if count == 1 else "carry"
    return f"{count} of {plural(units, 'unit')} {verb} nine tenths of the gains."


def saving_sentence(valuation: Valuation) -> str:
    """What can go, and what that saves."""
    units, total = removable(valuation), total_tokens(valuation)
    tokens = sum(unit.tokens for unit in units)
    if not units:
        return "Nothing can go on this evidence."
    share = f" ({tokens / total:.0%} of the skill)" if total else ""
    return f"{plural(len(units), 'unit')} can go, which saves {plural(tokens, 'token')}{share}."


def closure_sentence(valuation: Valuation) -> str:
    """Whether the values add up to the lift."""
    closure = valuation.estimate.closure
    ratio = "" if closure.ratio is None or not math.isfinite(closure.ratio) else f" ({closure.ratio:.0%})"
    verdict = "covers" if closure.covered else "does not cover"
    total, lift = with_bounds(closure.sum), points(closure.lift.value)
    return f"The values sum to {total}, which {verdict} the lift of {lift}{ratio}."


def spending_sentence(valuation: Valuation) -> str:
    """What the answer cost."""
    return ", ".join([f"{plural(valuation.rollouts.spent, 'rollout')} run", *spending_parts(valuation)]) + "."


def spending_parts(valuation: Valuation) -> list[str]:
    """What was reused, failed and foreseen, and what it used."""
    rollouts, usage = valuation.rollouts, valuation.usage
    parts = [f"{rollouts.reused:,} reused"] if rollouts.reused else []
    parts += [f"{rollouts.failed:,} failed"] if rollouts.failed else []
    parts += [f"{plural(rollouts.cut, 'answer')} cut by the token limit"] if rollouts.cut else []
    parts += [f"forecast {rollouts.forecast:,}"] if rollouts.forecast is not None else []
    tokens = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    parts += [plural(sum(tokens), "token")] if tokens else []
    parts += [f"${usage.usd:,.2f}"] if usage.usd is not None else []
    return parts
