"""Labels of units and sentences about a valuation, as the page, the terminal and the Markdown summary show them.

The numbers in them are written by `skillsv.model.format`. All text from the skill is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from skillsv.model.concentration import CARRIED_SHARE, count_carriers
from skillsv.model.edit import Confirmation, ProofOutcome
from skillsv.model.format import (
    count,
    decimal,
    duration,
    file_size,
    percent,
    plural,
    points,
    short_points,
    usage_parts,
    with_bounds,
)
from skillsv.model.rollout import Usage
from skillsv.model.skill import CompiledSkill, Extent, SkillFile, Unit, UnitKind
from skillsv.model.value import REMOVABLE, UnitReport, Valuation
from skillsv.report.escape import escape_line, escape_text, shorten
from skillsv.report.verdict_styles import VERDICT_STYLES

MARK = {action: style.mark for action, style in VERDICT_STYLES.items()}
"""A shape for each verdict, so that no verdict is shown by colour alone."""

SCOPE = "Intervals and verdicts are about these tasks; the JSON has the wider intervals for tasks like these, too."
"""Which of the two scopes of a net effect the table shows."""

DECOMPOSITION = "In points: net effect = content value − context cost."
"""How the three values of a unit are related, where both operators were run."""

_MARKUP = re.compile(r"^\s*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+|>\s*|#+\s+|\|\s*|```\w*\s*|<!--\s*)|[*`]{1,3}|__")
_SPACES = re.compile(r"\s+")

_MOST_FILES = 3
"""Files that the label of a unit names."""

_READ_BYTES = 2000
"""Bytes of a unit that are read to find its first words: a unit may be a megabyte."""


# Labels


def unit_label(unit: UnitReport, length: int = 60) -> str:
    """A unit's first words without Markdown, for a row of a table."""
    if unit.kind is UnitKind.TRIGGER:
        return "trigger (frontmatter)"
    if unit.kind is UnitKind.RESOURCE:
        return shorten(escape_text(unit.file), length)
    first = next((line for line in unit.text[: 20 * length].splitlines() if line.strip(" \t`-|:")), unit.id)
    plain = escape_text(_MARKUP.sub("", first)).strip(" |").replace(" | ", " · ")
    return shorten(_SPACES.sub(" ", plain) or unit.id, length)


def reached_label(unit: UnitReport) -> str:
    """The value of a unit with the files that only it leads to: `+8.3 with greetings.md`; else empty."""
    reached = unit.reaches
    if reached is None or math.isnan(reached.net):
        return ""
    names = [escape_line(path.rpartition("/")[2]) for path in reached.files]
    more = f" and {len(names) - _MOST_FILES} more" if len(names) > _MOST_FILES else ""
    return f"{points(reached.net)} with {', '.join(names[:_MOST_FILES])}{more}"


def labelled_unit(unit: UnitReport, length: int = 60) -> str:
    """The label of a unit, with its value together with the files that only it leads to."""
    reached = reached_label(unit)
    return f"{unit_label(unit, length)} ({reached})" if reached else unit_label(unit, length)


def numbered_label(unit: UnitReport, length: int = 60) -> str:
    """A unit's first line number and first words; a resource is named by its path alone."""
    label = unit_label(unit, length)
    return label if unit.kind in {UnitKind.TRIGGER, UnitKind.RESOURCE} else f"{unit.lines.first}  {label}"


def unit_location(unit: UnitReport) -> str:
    """File and lines of a unit: `SKILL.md:12-14`."""
    return location(Extent(file=unit.file, span=unit.span, lines=unit.lines))


def location(extent: Extent) -> str:
    """File and lines of a piece: `SKILL.md:12` or `SKILL.md:12-15`."""
    first, last = extent.lines.first, extent.lines.last
    return f"{escape_line(extent.file)}:{first}" if last <= first else f"{escape_line(extent.file)}:{first}-{last}"


def files_by_path(compiled: CompiledSkill) -> dict[str, SkillFile]:
    """The skill's files by relative path, for `first_words`."""
    return {file.path: file for file in compiled.skill.files}


def first_words(unit: Unit, files: Mapping[str, SkillFile], width: int = 72) -> str:
    """How a compiled unit begins; for a resource its size, since its path is shown anyway."""
    file = files.get(unit.file)
    if unit.kind is UnitKind.RESOURCE:
        return "" if file is None else file_size(file.size)
    if not len(unit.span) and unit.kind is UnitKind.TRIGGER:
        return "(no frontmatter)"
    if file is None or file.data is None:
        return ""
    piece = file.data[unit.span.start : min(unit.span.end, unit.span.start + _READ_BYTES)]
    return shorten(escape_line(piece.decode("utf-8", errors="replace")).strip(), width)


# Parts of a valuation


def execution_units(valuation: Valuation) -> tuple[UnitReport, ...]:
    """The units that have values: all but the trigger."""
    return tuple(unit for unit in valuation.units if unit.kind is not UnitKind.TRIGGER)


def has_content(valuation: Valuation) -> bool:
    """Whether both operators were run, so that units have a content value and a context cost."""
    return any(unit.value.content is not None for unit in execution_units(valuation))


def removable_units(valuation: Valuation) -> tuple[UnitReport, ...]:
    """The units that their verdicts would remove: delete, expendable, idle or harmful."""
    return tuple(unit for unit in execution_units(valuation) if unit.verdict.action in REMOVABLE)


def total_tokens(valuation: Valuation) -> int:
    """The length of the whole skill, as rendered where that is known, else the sum over its units."""
    return int(valuation.skill.get("tokens") or sum(unit.tokens for unit in valuation.units))


def all_notes(valuation: Valuation) -> tuple[str, ...]:
    """The notes of the valuation and of its estimate, each once."""
    return tuple(dict.fromkeys((*valuation.notes, *valuation.estimate.notes)))


def net_effects(valuation: Valuation) -> dict[str, float]:
    """The net effect of every execution unit; 0 where a unit has no value yet."""
    return {unit.id: unit.value.net_or_zero.value for unit in execution_units(valuation)}


# Sentences


REACHED = (
    "A file that only one unit leads to comes before that unit in every order, when nothing leads to it yet: an agent "
    "that opens files only when it is told to gives all of the effect to the unit. So they are kept or deleted "
    "together."
)
"""The explanation of values such as "+8.3 with greetings.md"."""


def reached_sentence(valuation: Valuation) -> str | None:
    """The explanation of values of units with their files; None where no unit has such files."""
    return REACHED if any(reached_label(unit) for unit in execution_units(valuation)) else None


def lift_sentence(valuation: Valuation) -> str:
    """What the skill's body adds to the score, with its interval."""
    estimate = valuation.estimate
    full, base = (points(anchor.value, signed=False) for anchor in (estimate.anchors.full, estimate.anchors.trigger))
    lift = estimate.content_lift
    if lift.covers(0.0):
        return f"No lift shown: {full} with the skill, {base} with its trigger alone ({with_bounds(lift)} points)."
    change = "lifts" if lift.value > 0 else "lowers"
    return f"The skill {change} the score from {base} to {full}: {with_bounds(lift)} points."


def trigger_sentence(valuation: Valuation) -> str:
    """What the trigger alone adds to the score of the bare agent: theta in the paper."""
    base = points(valuation.estimate.anchors.empty.value, signed=False)
    value = with_bounds(valuation.estimate.trigger_value)
    return f"The trigger alone is worth {value} points; without any skill the score is {base}."


def early_sentence(valuation: Valuation) -> str:
    """How much of the lift the values explain, where units have no value yet, and what to do; empty otherwise."""
    units = execution_units(valuation)
    unknown = sum(not unit.value.has_value for unit in units)
    if not unknown:
        return ""
    known = math.fsum(unit.value.net.value for unit in units if unit.value.has_value)
    shares = (known, valuation.estimate.closure.lift.value)
    explained, lift = (points(share, signed=False, digits=0) for share in shares)
    verb = "has" if unknown == 1 else "have"
    hint = "" if valuation.next_budget is None else f" Next sensible budget: --max-rollouts {valuation.next_budget}."
    return (
        f"Too early: the values explain {explained} of {lift} points; {unknown} of {plural(len(units), 'unit')} "
        f"{verb} no value yet.{hint}"
    )


def concentration_sentence(valuation: Valuation) -> str:
    """How many units hold 90% of the positive value. Where units have no value yet, that instead."""
    early = early_sentence(valuation)
    if early:
        return early
    units = len(execution_units(valuation))
    number = count_carriers(net_effects(valuation))
    if not number:
        return f"None of its {plural(units, 'unit')} has a positive value."
    verb = "carries" if number == 1 else "carry"
    return f"{number} of {plural(units, 'unit')} {verb} {percent(CARRIED_SHARE)} of the gains."


def saving_sentence(valuation: Valuation) -> str:
    """How many units can be removed, and how many tokens that saves."""
    units, total = removable_units(valuation), total_tokens(valuation)
    tokens = sum(unit.tokens for unit in units)
    if not units:
        return "No unit is shown to be worthless or harmful."
    share = f" ({percent(tokens / total)} of the skill)" if total else ""
    verb = "is" if len(units) == 1 else "are"
    return f"{plural(len(units), 'unit')} {verb} worthless or harmful: deleting saves {plural(tokens, 'token')}{share}."


def closure_sentence(valuation: Valuation) -> str:
    """Whether the values add up to the lift. Where units have no value yet, their sum may be known nevertheless."""
    closure = valuation.estimate.closure
    ratio = "" if closure.ratio is None or not math.isfinite(closure.ratio) else f" ({percent(closure.ratio)})"
    total, lift = with_bounds(closure.sum), points(closure.lift.value)
    if closure.covered and not all(unit.value.has_value for unit in execution_units(valuation)):
        return f"All units together are worth {total} points; how that divides among them is not known yet."
    if closure.gap is not None:
        gap, verdict = with_bounds(closure.gap), "add up" if closure.covered else "do not add up"
        return (
            f"The values sum to {total} points, and the skill adds {lift}{ratio}: they {verdict}, with a gap of {gap}."
        )
    verdict = "covers" if closure.covered else "does not cover"
    return f"The values sum to {total} points, which {verdict} the {lift} that the skill adds{ratio}."


def chain_cost_sentence(valuation: Valuation) -> str:
    """How much of the chains was evaluated before truncation, and what that saved; empty for the adaptive method."""
    cost = valuation.chain_cost
    if cost is None:
        return ""
    share = f"{percent(cost.gamma)} of the prefixes of the chains were evaluated before truncation (gamma)"
    if cost.full_rollouts is None or cost.ratio is None:
        return f"{share}."
    saving = f"{count(cost.rollouts)} rollouts instead of {count(cost.full_rollouts)}"
    return f"{share}: with task windows, {saving} (R / R_full {decimal(cost.ratio, digits=3)})."


def spending_sentence(valuation: Valuation) -> str:
    """What the valuation cost."""
    return ", ".join([f"{plural(valuation.rollouts.spent, 'rollout')} run", *spending_parts(valuation)]) + "."


def cost_words(rollouts: int, usage: Usage, seconds: float | None = None) -> str:
    """What rollouts cost in a few words: tokens, money, and the time of the agent. What is not known is said, too."""
    tokens = usage.input_tokens is not None or usage.output_tokens is not None
    unknown = {
        (False, False): "tokens and cost unknown",
        (True, False): "cost unknown",
        (False, True): "tokens unknown",
    }
    missing = unknown.get((tokens, usage.usd is not None))
    parts = [plural(rollouts, "rollout"), *usage_parts(usage), *([missing] if missing else [])]
    return ", ".join(parts if seconds is None else [*parts, f"{duration(seconds)} of agent time"])


def spending_parts(valuation: Valuation) -> list[str]:
    """Rollouts reused, failed and forecast, then tokens and money."""
    rollouts = valuation.rollouts
    parts = [f"{count(rollouts.reused)} reused"] if rollouts.reused else []
    parts += [f"{count(rollouts.failed)} failed"] if rollouts.failed else []
    parts += [f"{plural(rollouts.cut, 'answer')} cut by the token limit"] if rollouts.cut else []
    parts += [f"forecast {count(rollouts.forecast)}"] if rollouts.forecast is not None else []
    return [*parts, *usage_parts(valuation.usage)]


def proof_sentence(confirmation: Confirmation) -> str:
    """What panel B shows: no worse, worse, or neither; with the scores before and after and the length."""
    found = confirmation
    share = found.tokens_new / found.tokens_old if found.tokens_old else 1.0
    tasks = f"{plural(found.tasks, 'held-out task')}"
    scores = f"from {points(found.old.value, signed=False)} to {points(found.new.value, signed=False)}"
    change = f"change {with_bounds(found.delta)} points"
    length = f"{percent(share)} of the tokens ({count(found.tokens_new)} of {count(found.tokens_old)})"
    limit = "" if found.max_drop is None else f" by more than {short_points(found.max_drop)} points"
    match found.outcome:
        case ProofOutcome.NO_WORSE:
            said = f"Confirmed on {tasks}: better" if found.delta.low > 0 else f"Confirmed on {tasks}: no worse{limit}"
            return f"{said}, {scores}, {change}, with {length}."
        case ProofOutcome.WORSE:
            return f"Worse on {tasks}: {scores}, {change}, with {length}."
        case _:
            return f"Not shown on {tasks} to be no worse{limit}: {scores}, {change}, with {length}."
