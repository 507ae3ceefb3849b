"""An agent that can only take the steps that the skill teaches: each competence in the text is one step of its search.

It uses the ordinary protocol and the real tools, turn by turn, so documents, tools and verifier decide what a skill is
worth. Without a skill it does not even search. It understands questions of two forms, about tables whose titles state
basis and unit:

    What was the salt duty in fiscal year 1970, in millions of crowns?
    By what percent did the salt duty change from 1969 to 1970?
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from skillsv.model.rollout import Usage
from skillsv.model.task import Task
from skillsv_bench.benchmark import compile_patterns, find_competences
from skillsv_bench.conversation import Message, Reply, RolloutContext, Tool, ToolCall
from skillsv_bench.officeqa.agents import ToolUsingAgent
from skillsv_bench.officeqa.tasks import PAPER
from skillsv_bench.officeqa.tools import DocumentStore, TableRow, read_table_row, scale_of
from skillsv_bench.officeqa.verify import exact_match, extract_answer

_ABOVE = 40
"""Lines above a hit in which its table begins."""

_UNKNOWN = "unknown"
"""The answer of an agent that cannot find the figure."""

_FIGURE = re.compile(
    r"what (?:was|were) (?:the )?(?P<row>.+?) in (?P<basis>fiscal year |calendar year )?(?P<year>\d{4})\b(?P<unit>.*)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"by what percent did (?:the )?(?P<row>.+?) change from (?P<basis>fiscal year |calendar year )?"
    r"(?P<before>\d{4}) to (?P<year>\d{4})\b",
    re.IGNORECASE,
)

_FREE = Usage(input_tokens=0, output_tokens=0, usd=0.0)
"""The usage of a reply that no model gave."""

COMPETENCE_PATTERNS = compile_patterns(
    {
        "search": r"\bsearch terms?\b|\bsearch (for|the)\b|\bgrep\b|\bliteral\b",
        "columns": r"\bcolumn headers?\b|\bheaded\b",
        "basis": r"\bfiscal\b",
        "units": r"\bunits?\b|\bconvert",
        "change": r"\bpercent(age)? change\b|\bchange from\b|\bgrowth",
        "all-documents": r"\b(adjacent|other|later|every|all|both|second) (issues?|documents?|files?)\b",
    }
)
"""The competences that the agent can have, and the words in a skill that teach each."""

OUT_OF_REACH = "out-of-reach"
"""The competence that a question of another form needs: no skill teaches it."""

Search = Generator[ToolCall, str, str]
"""Yields tool calls, is sent their outputs, returns the answer."""

ScaledNumber = tuple[Decimal, Decimal]
"""A figure as written, and the scale of its table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """A parsed question: one year, or two for a change; with `scale` None the answer has the table's scale."""

    row: str
    fiscal: bool
    years: tuple[str, ...]
    scale: Decimal | None


def parse_question(question: str) -> ParsedQuestion | None:
    """Parse a question; None if it has neither form."""
    change = _CHANGE.search(question)
    found = change or _FIGURE.search(question)
    if found is None:
        return None
    unit = "" if change else found["unit"]
    return ParsedQuestion(
        row=found["row"].strip(),
        fiscal=(found["basis"] or "").lower().startswith("fiscal"),
        years=(found["before"], found["year"]) if change else (found["year"],),
        scale=scale_of(unit) if "in " in unit else None,
    )


def search_answer(question: str, competences: frozenset[str]) -> Search:
    """Search for the answer with these competences, and with no others."""
    wanted = parse_question(question)
    if wanted is None or "search" not in competences:
        return _UNKNOWN
    names = (yield _make_call(0, "glob", pattern="*")).splitlines()
    found = yield from _rows(wanted, names if "all-documents" in competences else names[:1], competences)
    picked = [_pick(found, year, competences) for year in wanted.years]
    figures = [figure for figure in picked if figure is not None]
    if len(figures) < len(picked):
        return _UNKNOWN
    if len(figures) > 1 and "change" in competences:
        return _change(figures[0], figures[1], competences)
    return _written(figures[-1], wanted, competences)


def _rows(
    wanted: ParsedQuestion, names: Sequence[str], competences: frozenset[str]
) -> Generator[ToolCall, str, list[TableRow]]:
    """Find the rows of this name in the documents; with the competence `basis`, only in tables of the right basis."""
    rows: list[TableRow] = []
    made = 0
    for name in names:
        made += 1
        hits = yield _make_call(made, "grep", literal=f"| {wanted.row} |", path=name)
        for number in re.findall(r"^(\d+): ", hits, re.MULTILINE):
            first, last = max(1, int(number) - _ABOVE), int(number)
            made += 1
            text = yield _make_call(made, "read", path=name, start=first, limit=last - first + 1)
            figures = read_table_row(text.splitlines())
            if figures is not None and ("basis" not in competences or figures.fiscal == wanted.fiscal):
                rows.append(figures)
    return rows


def _pick(rows: Sequence[TableRow], year: str, competences: frozenset[str]) -> ScaledNumber | None:
    """Return the figure in the column of a year; without the competence `columns`, the first figure."""
    if "columns" in competences:
        return next(((row.by_year[year], row.scale) for row in rows if year in row.by_year), None)
    return next(((row.values[0], row.scale) for row in rows if row.values), None)


def _change(before: ScaledNumber, after: ScaledNumber, competences: frozenset[str]) -> str:
    """Return the change in percent; without the competence `units`, of the figures as they are written."""
    old, new = (value * scale if "units" in competences else value for value, scale in (before, after))
    return f"{(new / old - 1) * 100:.1f}%" if old else _UNKNOWN


def _written(figure: ScaledNumber, wanted: ParsedQuestion, competences: frozenset[str]) -> str:
    """Write the figure in the unit of the question; without the competence `units`, as it stands in the table."""
    value, scale = figure
    if wanted.scale is not None and "units" in competences:
        value = value * scale / wanted.scale
    return f"{value.normalize():f}"


def _make_call(number: int, tool: str, **arguments: str | int) -> ToolCall:
    return ToolCall(id=f"call-{number}", tool=tool, arguments=arguments)


def read_competences(text: str) -> frozenset[str]:
    """The competences that a rendered skill teaches."""
    return find_competences(COMPETENCE_PATTERNS, text)


def find_needed_competences(task: Task) -> frozenset[str]:
    """Find, by trial, each competence without which the agent gives a wrong answer."""
    everything = frozenset(COMPETENCE_PATTERNS)
    if not _solves(task, everything):
        return frozenset({OUT_OF_REACH})
    return frozenset(competence for competence in everything if not _solves(task, everything - {competence}))


def _solves(task: Task, competences: frozenset[str]) -> bool:
    documents = DocumentStore(task.files)
    tool_outputs: list[str] = []
    for _ in range(PAPER.turns):
        reply = next_step(str(task.metadata["question"]), competences, tool_outputs)
        if not reply.calls:
            return bool(exact_match(extract_answer(reply.text) or "", str(task.target)))
        tool_outputs.extend(documents.call(call) for call in reply.calls)
    return False


def next_step(question: str, competences: frozenset[str], tool_outputs: Sequence[str]) -> Reply:
    """Return the call or the answer that follows the tool outputs so far."""
    search = search_answer(question, competences)
    try:
        call = next(search)
        for text in tool_outputs:
            call = search.send(text)
    except StopIteration as end:
        return Reply(text=f"<answer>{end.value}</answer>", usage=_FREE)
    return Reply(text="", calls=(call,), usage=_FREE)


class RuleFollowingClient:
    """A client without memory: it repeats its search with the tool outputs so far, and takes one step more."""

    fingerprint = "officeqa-rules/1"

    async def reply(self, messages: Sequence[Message], context: RolloutContext, tools: Sequence[Tool] = ()) -> Reply:
        """The next call, or the answer."""
        del tools
        text = context.skill.text if context.skill is not None else ""
        tool_outputs = [message.text for message in messages if message.role == "tool"]
        return next_step(str(context.task.metadata["question"]), read_competences(text), tool_outputs)


def rules() -> ToolUsingAgent:
    """The agent that follows the rules it finds, in the ordinary protocol."""
    return ToolUsingAgent(RuleFollowingClient())
