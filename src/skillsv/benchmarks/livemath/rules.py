"""An agent that can only do what the skill tells it: each habit it finds in the text makes a kind of question solvable.

A question with an option about a stronger result is solved by taking that option, which needs no knowledge at all, and
is right as often as upstream made it so. Any other question is solved by one habit, which its words decide; the agent
then knows the right label. Where the question asks for the strongest statement, it must know that statements are to be
ranked, too. Without the habits that a question needs it does not choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillsv.benchmarks.lessons import learned, lessons
from skillsv.benchmarks.livemath.known import tagged
from skillsv.benchmarks.scripted import Scripted
from skillsv.model.task import Task

HABITS = lessons(
    {
        "stronger-option": r"\bstronger results?\b|\bmeta-?options?\b",
        "ranking": r"\bstrongest\b|\brank (them|the|all)\b|\blogical strength\b",
        "completeness": r"\bclassif(ication|y)|\bcharacteri[sz]ation",
        "equivalence": r"\bequivalen(ce|t)|\bbiconditional",
        "estimates": r"\bconstants?\b|\bexponents?\b|\binequalit(y|ies)\b",
        "quantifiers": r"\bquantifiers?\b",
        "hypotheses": r"\bhypothes[ie]s\b|\bassumptions?\b",
    }
)
"""What the agent can learn, and the words by which it recognises the lesson."""

_KINDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "completeness": r"\bcomplete\b|\bclassification\b|\blist\b",
        "equivalence": r"\bequivalent\b|\bif and only if\b|\bprecisely when\b|\bexactly when\b",
        "estimates": r"\bconstant\b|\bbound(s|ed)?\b|\bregularity\b|\bcomparison\b|\blimit\b",
        "quantifiers": r"\bfor (every|all|each)\b|\bevery\b|\bthere (is|exists?)\b",
    }.items()
}
"""Which habit a question needs, by its own words: the first that matches; hypotheses matter everywhere else."""


def competences(text: str) -> frozenset[str]:
    """The habits that a rendered skill teaches."""
    return learned(HABITS, text)


def needs(task: Task) -> frozenset[str]:
    """The habits without which the agent does not answer this question."""
    question = task.metadata["question"]
    ranking = {"ranking"} if "strongest" in question.casefold() else set()
    if _stronger_option(task) is not None:
        return frozenset({"stronger-option", *ranking})
    kind = next((name for name, words in _KINDS.items() if words.search(question)), "hypotheses")
    return frozenset({kind, *ranking})


def answer(text: str, task: Task) -> str:
    """The agent's answer with this skill."""
    if not needs(task) <= competences(text):
        return "I cannot decide between the choices."
    return tagged(_stronger_option(task) or task.target)


def _stronger_option(task: Task) -> str | None:
    choices = task.metadata["choices"]
    return next((choice["label"] for choice in choices if "stronger result" in choice["text"].casefold()), None)


def rules() -> Scripted:
    """The agent that follows the rules it finds."""
    return Scripted(fingerprint="livemath-rules/1", answer=answer, reads=True)
