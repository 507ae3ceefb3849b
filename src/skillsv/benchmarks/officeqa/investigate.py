"""How the rule-following agent finds a figure: a program of tool calls whose every step is a habit.

It understands questions of two plain forms, about tables whose titles say basis and unit:

    What was the salt duty in fiscal year 1970, in millions of crowns?
    By what percent did the salt duty change from 1969 to 1970?
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from skillsv.benchmarks.officeqa.tables import Figures, figures_above, scale_of
from skillsv.benchmarks.speakers import Call

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
