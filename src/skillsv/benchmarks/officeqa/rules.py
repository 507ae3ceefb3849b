"""An agent that can only do what the skill tells it: each habit it finds in the text is a step it can make.

It speaks in the ordinary protocol and uses the real tools, turn by turn, so that documents, tools and verifier decide
what a skill is worth. With no skill it does not even search.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.benchmarks.lessons import learned, lessons
from skillsv.benchmarks.officeqa.agent import Researcher
from skillsv.benchmarks.officeqa.investigate import investigate
from skillsv.benchmarks.officeqa.paper import PAPER
from skillsv.benchmarks.officeqa.tools import Library
from skillsv.benchmarks.officeqa.verify import exact_match, said
from skillsv.benchmarks.speakers import Message, Reply, Situation, Tool
from skillsv.model.rollout import Usage
from skillsv.model.task import Task

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
