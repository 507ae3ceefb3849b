"""The text of planted skills: ordinary Markdown with sections, lead-ins, lists and references, one mark per unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TOPICS = (
    "Before you start",
    "Reading the question",
    "Choosing a method",
    "Working in small steps",
    "Checking the result",
    "Writing the answer",
    "Recovering from errors",
    "Finishing touches",
)
"""The headings of sections, in order."""

ADVICE = (
    "Read every part of the request before acting on any of it",
    "Write down what is given and what is asked",
    "Prefer the simplest method that can work",
    "Keep intermediate results where they can be checked",
    "Compare the result with an independent estimate",
    "State the answer once, in the form that was asked for",
    "Stop and look again when two findings disagree",
    "Leave the surroundings as they were found",
)
"""The sentences of units, used in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPlan:
    """One section of a planted skill: paragraphs, or a list of `units` items, below a lead-in if it `leads`.

    `refers` is the number of the section that its last unit points at, which makes a dependency across sections.
    """

    units: int
    listed: bool = True
    leads: bool = False
    refers: int | None = None


SHAPES: Mapping[str, tuple[SectionPlan, ...]] = {
    "livemath": (
        SectionPlan(units=1, listed=False),
        SectionPlan(units=5, leads=True),
        SectionPlan(units=4, refers=1),
        SectionPlan(units=6, leads=True),
    ),
    "officeqa": (
        SectionPlan(units=2, listed=False),
        SectionPlan(units=6, leads=True),
        SectionPlan(units=5, refers=1),
        SectionPlan(units=7, leads=True),
        SectionPlan(units=5, refers=3),
    ),
    "spreadsheet": (
        SectionPlan(units=1, listed=False),
        SectionPlan(units=7, leads=True),
        SectionPlan(units=7, refers=1),
        SectionPlan(units=8, leads=True),
        SectionPlan(units=6),
        SectionPlan(units=7, leads=True, refers=4),
        SectionPlan(units=7),
        SectionPlan(units=6, refers=5),
    ),
    "alfworld": (
        SectionPlan(units=2, listed=False),
        SectionPlan(units=7, leads=True),
        SectionPlan(units=7),
        SectionPlan(units=8, leads=True, refers=1),
        SectionPlan(units=6, leads=True),
        SectionPlan(units=6, refers=2),
        SectionPlan(units=6, leads=True),
        SectionPlan(units=6),
    ),
}
"""Shapes like the paper's four skills: 16, 25, 49 and 48 execution units."""


def mark(number: int) -> str:
    """The mark of the unit with that number in document order, as the planted agent reads it."""
    return f"rule-{number:02d}"


def skill_text(name: str, sections: tuple[SectionPlan, ...]) -> str:
    """A whole SKILL.md. Units are marked [rule-01], [rule-02], ... in document order."""
    lines = ["---", f"name: planted-{name}", "description: A made-up skill whose values are known.", "---", ""]
    lines += [f"# The {name} skill", ""]
    number = 0
    for place, section in enumerate(sections):
        lines += [f"## {TOPICS[place]}", ""]
        lines += _section(section, first=number + 1)
        number += section.units
    return "\n".join(lines)


def _section(section: SectionPlan, *, first: int) -> Iterator[str]:
    for step in range(section.units):
        number = first + step
        sentence = f"{ADVICE[number % len(ADVICE)]} [{mark(number)}]"
        if section.refers is not None and step == section.units - 1:
            topic = TOPICS[section.refers]
            sentence += f", as told under [{topic}](#{topic.lower().replace(' ', '-')})"
        if section.leads and step == 0:
            yield f"{sentence}, and then:"
            yield ""
        elif section.listed:
            yield f"- {sentence}."
        else:
            yield f"{sentence}."
            yield ""
    if section.listed:
        yield ""
