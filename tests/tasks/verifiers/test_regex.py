"""The verifier `regex`, and searches that take too long."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier
from skillsv.tasks.verifiers import regex

EXPONENTIAL = r"(a|a|aa)+$"
"""A pattern whose search takes exponential time."""


def regex_task(target: str) -> Task:
    return Task(id="t1", input="What?", target=target, verifier="regex")


def score(task: Task, answer: str, folder: Path, **options) -> float:
    verifier = make_verifier([task], folder=folder, **options)
    return anyio.run(verifier.score, task, Outcome(answer=answer), folder)


def test_search_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(regex, "_LIMITS", regex.Limits(seconds=0.5, output_bytes=1024))
    with pytest.raises(VerifierFailure, match=r"did not finish within 0\.5 s"):
        score(regex_task(EXPONENTIAL), "a" * 60 + "b", tmp_path)


@pytest.mark.parametrize(
    ("pattern", "fast"),
    [
        (r"\b42\b", True),
        (r"total.*42", True),
        (r"(?i)total.*42", True),
        (r"(?:a|b) c+", True),
        (r"1\+1\*2", True),
        (r"a*a*b", False),
        (r"(a|a)+", False),
        (r"(a{1,9}){9}", False),
        (r"a?a?a?aaa", False),
        (r"(?x)(a|a) +b", False),
        (r"\\*x*", False),
    ],
)
def test_only_patterns_with_one_repetition_are_fast(pattern, fast):
    assert regex.is_fast(pattern) is fast


def test_long_answer_is_searched_in_a_process_of_its_own(tmp_path):
    assert score(regex_task("needle+"), "x" * 100_000 + "needle", tmp_path) == 1.0
    assert score(regex_task("needle+"), "x" * 100_000, tmp_path) == 0.0
    assert score(regex_task(r"é\s+\ud83d\ude00|é.*😀"), "é  \n é 😀 " + "x" * 9000, tmp_path) == 1.0
