"""An agent that can only do what the skill tells it: each habit it finds in the text is a step it can make.

It speaks in the ordinary protocol and uses the real tools, turn by turn, so that documents, tools and verifier decide
what a skill is worth. With no skill it does not even search.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from skillsv.model.rollout import Usage
from skillsv.model.task import Task
from skillsv_bench.benchmark import learned, lessons
from skillsv_bench.conversation import Call, Message, Reply, Situation, Tool
from skillsv_bench.officeqa.agents import Researcher
from skillsv_bench.officeqa.tasks import PAPER
from skillsv_bench.officeqa.tools import Figures, Library, figures_above, scale_of
from skillsv_bench.officeqa.verify import exact_match, said

# How the rule-following agent finds a figure: a program of tool calls whose every step is a habit.
# It understands questions of two plain forms, about tables whose titles say basis and unit:
# What was the salt duty in fiscal year 1970, in millions of crowns?
# By what percent did the salt duty change from 1969 to 1970?

_ABOVE = 40  # lines above a hit in which its table begins
_UNKNOWN = "unknown"

_FIGURE = re.compile(
    r"what (?:was|were) (?:the )?(?P<row>.+?) in (?P<basis>fiscal year |calendar year )?(?P<year>\d{4})\b(?P<unit>.*)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"by what percent did (?:the )?(?P<row>.+?) change from (?P<basis>fiscal year |calendar year )?"
    r"(?P<before>\d{4}) to (?P<year>\d{4})\b",
    re.IGNORECASE,
)

Search = Generator[Call, str, str]
"""Yields the calls it makes, is sent what they give, returns the answer."""

Figure = tuple[Decimal, Decimal]
"""A figure as written, and the scale of its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A question understood: the years are one, or two for a change; the scale None is that of the table."""

    row: str
    fiscal: bool
    years: tuple[str, ...]
    scale: Decimal | None


def understood(question: str) -> Wanted | None:
    """What a question asks for; None where it has neither form."""
    change = _CHANGE.search(question)
    found = change or _FIGURE.search(question)
    if found is None:
        return None
    unit = "" if change else found["unit"]
    return Wanted(
        row=found["row"].strip(),
        fiscal=(found["basis"] or "").lower().startswith("fiscal"),
        years=(found["before"], found["year"]) if change else (found["year"],),
        scale=scale_of(unit) if "in " in unit else None,
    )


def investigate(question: str, habits: frozenset[str]) -> Search:
    """Search for the answer with these habits, and with no others."""
    wanted = understood(question)
    if wanted is None or "search" not in habits:
        return _UNKNOWN
    names = (yield _call(0, "glob", pattern="*")).splitlines()
    found = yield from _rows(wanted, names if "all-documents" in habits else names[:1], habits)
    picked = [_pick(found, year, habits) for year in wanted.years]
    figures = [figure for figure in picked if figure is not None]
    if len(figures) < len(picked):
        return _UNKNOWN
    if len(figures) > 1 and "change" in habits:
        return _change(figures[0], figures[1], habits)
    return _written(figures[-1], wanted, habits)


def _rows(wanted: Wanted, names: Sequence[str], habits: frozenset[str]) -> Generator[Call, str, list[Figures]]:
    """The rows of this name in the documents; who minds the basis leaves tables of the other basis aside."""
    rows: list[Figures] = []
    made = 0
    for name in names:
        made += 1
        hits = yield _call(made, "grep", literal=f"| {wanted.row} |", path=name)
        for number in re.findall(r"^(\d+): ", hits, re.MULTILINE):
            first, last = max(1, int(number) - _ABOVE), int(number)
            made += 1
            text = yield _call(made, "read", path=name, start=first, limit=last - first + 1)
            figures = figures_above(text.splitlines())
            if figures is not None and ("basis" not in habits or figures.fiscal == wanted.fiscal):
                rows.append(figures)
    return rows


def _pick(rows: Sequence[Figures], year: str, habits: frozenset[str]) -> Figure | None:
    """The figure of a year by its column; who does not mind the header takes the first figure there is."""
    if "columns" in habits:
        return next(((row.by_year[year], row.scale) for row in rows if year in row.by_year), None)
    return next(((row.values[0], row.scale) for row in rows if row.values), None)


def _change(before: Figure, after: Figure, habits: frozenset[str]) -> str:
    """By how much the second figure is above the first; who does not mind units compares them as they are written."""
    old, new = (value * scale if "units" in habits else value for value, scale in (before, after))
    return f"{(new / old - 1) * 100:.1f}%" if old else _UNKNOWN


def _written(figure: Figure, wanted: Wanted, habits: frozenset[str]) -> str:
    """The figure in the unit that was asked for; who does not mind units writes it as it stands in the table."""
    value, scale = figure
    if wanted.scale is not None and "units" in habits:
        value = value * scale / wanted.scale
    return f"{value.normalize():f}"


def _call(number: int, tool: str, **arguments: str | int) -> Call:
    return Call(id=f"call-{number}", tool=tool, arguments=arguments)


HABITS = lessons(
    {
        "search": r"\bsearch terms?\b|\bsearch (for|the)\b|\bgrep\b|\bliteral\b",
        "columns": r"\bcolumn headers?\b|\bheaded\b",
        "basis": r"\bfiscal\b",
        "units": r"\bunits?\b|\bconvert",
        "change": r"\bpercent(age)? change\b|\bchange from\b|\bgrowth",
        "all-documents": r"\b(adjacent|other|later|every|all|both|second) (issues?|documents?|files?)\b",
    }
)
"""What the agent can learn, and the words by which it recognises the lesson."""

OUT_OF_REACH = "out-of-reach"
"""What a question needs that the agent does not understand: no skill teaches it."""


def competences(text: str) -> frozenset[str]:
    """The habits that a rendered skill teaches."""
    return learned(HABITS, text)


def needs(task: Task) -> frozenset[str]:
    """The habits without any of which the agent gets this question wrong, found by trying."""
    everything = frozenset(HABITS)
    if not _solves(task, everything):
        return frozenset({OUT_OF_REACH})
    return frozenset(habit for habit in everything if not _solves(task, everything - {habit}))


def _solves(task: Task, habits: frozenset[str]) -> bool:
    library = Library(task.files)
    heard: list[str] = []
    for _ in range(PAPER.turns):
        reply = next_step(task.metadata["question"], habits, heard)
        if not reply.calls:
            return bool(exact_match(said(reply.text) or "", task.target))
        heard.extend(library.call(call) for call in reply.calls)
    return False


def next_step(question: str, habits: frozenset[str], heard: Sequence[str]) -> Reply:
    """The call or the answer that comes after what the tools have said so far."""
    search = investigate(question, habits)
    try:
        call = next(search)
        for text in heard:
            call = search.send(text)
    except StopIteration as end:
        return Reply(text=f"<answer>{end.value}</answer>", usage=_FREE)
    return Reply(text="", calls=(call,), usage=_FREE)


_FREE = Usage(input_tokens=0, output_tokens=0, usd=0.0)


class RuleFollower:
    """A speaker that remembers nothing: it repeats its search from what the tools said, and goes one step on."""

    fingerprint = "officeqa-rules/1"

    async def reply(self, messages: Sequence[Message], situation: Situation, tools: Sequence[Tool] = ()) -> Reply:
        """The next call, or the answer."""
        del tools
        text = situation.skill.text if situation.skill is not None else ""
        heard = [message.text for message in messages if message.role == "tool"]
        return next_step(situation.task.metadata["question"], competences(text), heard)


def rules() -> Researcher:
    """The agent that follows the rules it finds, in the ordinary protocol."""
    return Researcher(RuleFollower())
