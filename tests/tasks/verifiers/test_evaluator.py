"""The verifier that reads the score of an evaluator."""

from __future__ import annotations

import anyio
import pytest

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier

SCORES = {"includes": 0.5, "graded.tone": 1.0, "raw": 7.0}


def score(tmp_path, spec, scores):
    task = Task(id="a", input="?", verifier=spec)
    verifier = make_verifier([task], folder=tmp_path)
    return anyio.run(verifier.score, task, Outcome(answer="", scores=scores), tmp_path)


@pytest.mark.parametrize(("spec", "value"), [("inspect", 0.5), ("inspect:includes", 0.5), ("inspect:graded.tone", 1.0)])
def test_the_first_score_or_the_named_one(tmp_path, spec, value):
    assert score(tmp_path, spec, SCORES) == value


@pytest.mark.parametrize(
    ("spec", "scores", "words"),
    [
        ("inspect", {}, "needs --agent inspect:FILE.py@task"),
        ("inspect:tone", SCORES, "no score `tone`; there are: includes, graded.tone, raw"),
        ("inspect:raw", SCORES, "returned 7.0 instead of a score from 0 to 1"),
    ],
)
def test_anything_else_is_a_failure_and_never_a_zero(tmp_path, spec, scores, words):
    with pytest.raises(VerifierFailure) as caught:
        score(tmp_path, spec, scores)
    assert words in str(caught.value)
