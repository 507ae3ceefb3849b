"""Whether an answer is right: exact match as in the paper, the overlap of words, or upstream's own rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from string import punctuation
from typing import Literal

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.officeqa.upstream import final_answer, upstream_score
from skillsv_bench.second_metric import SecondMetric

__all__ = [
    "METRICS",
    "TOKEN_F1",
    "AnswerVerifier",
    "exact_match",
    "extract_answer",
    "normalized",
    "token_f1",
    "upstream_score",
]

Metric = Literal["em", "f1", "upstream"]

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_DROPPED = str.maketrans("", "", "".join(sign for sign in punctuation if sign not in ".-%"))
_WORDS = re.compile(r"\b(millions?|billions?|dollars?|nominal)\b")


def extract_answer(text: str) -> str | None:
    """Return the text in the first answer tags; None if there are none."""
    found = _ANSWER.search(text)
    return found.group(1).strip() if found else None


def normalized(text: str) -> str:
    """A text without what the paper's verifier does not look at: case, most punctuation, words for units, spaces."""
    return " ".join(_WORDS.sub(" ", text.lower().translate(_DROPPED)).split())


def exact_match(answer: str, gold: str) -> float:
    """EM, the primary metric: equal once normalized."""
    return float(normalized(answer) == normalized(gold))


def token_f1(answer: str, gold: str) -> float:
    """F1, the second metric: the overlap of the normalized words."""
    ours, theirs = Counter(normalized(answer).split()), Counter(normalized(gold).split())
    if not ours or not theirs:
        return float(ours == theirs)
    return 2 * (ours & theirs).total() / (ours.total() + theirs.total())


def _answer_f1(task: Task, text: str) -> float:
    answer = extract_answer(text)
    return token_f1(answer, str(task.target)) if answer else 0.0


TOKEN_F1 = SecondMetric(name="f1", title="F1", of_answer=_answer_f1)
"""The second metric: the overlap of words with the gold, 0 for an answer without tags."""

METRICS: Mapping[Metric, Callable[[str, str], float]] = {
    "em": exact_match,
    "f1": token_f1,
    "upstream": lambda answer, gold: upstream_score(gold, answer),
}
"""Functions of the extracted answer and the gold."""


class AnswerVerifier:
    """Scores what stands in the answer tags by one of the metrics; an answer without tags is wrong.

    The metric `upstream` also takes upstream's own tags, FINAL_ANSWER, and these go first.
    """

    def __init__(self, metric: Metric = "em") -> None:
        self._metric = metric

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""
        del workspace
        tagged = final_answer(outcome.answer) if self._metric == "upstream" else None
        answer = tagged if tagged is not None else extract_answer(outcome.answer)
        return METRICS[self._metric](answer, str(task.target)) if answer else 0.0
