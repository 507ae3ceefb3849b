"""What counts as won."""

from __future__ import annotations

import anyio
import pytest

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.alfworld.tasks import Result, WonVerifier, passed


@pytest.mark.parametrize(
    ("won", "steps", "expected"),
    [
        (True, 1, True),
        (True, 50, True),
        (True, 51, False),  # the environment ends an episode before that
        (True, 0, True),
        (True, -1, False),
        (False, 12, False),
        (False, 50, False),
    ],
)
def test_won_within_fifty_steps(won, steps, expected):
    assert passed(Result(won=won, steps=steps)) is expected


def score(answer: str) -> float:
    task = Task(id="t", input="Your task is to: put a cup on shelf.")
    return anyio.run(lambda: WonVerifier().score(task, Outcome(answer=answer), None))


def test_the_score_is_read_from_the_result_of_an_episode():
    assert score(Result(won=True, steps=3, actions=("look", "look", "win")).as_answer()) == 1.0
    assert score(Result(won=False, steps=50).as_answer()) == 0.0


@pytest.mark.parametrize("answer", ["", "I won!", '{"won": true}', '{"won": "true", "steps": 1}', "[true, 3]"])
def test_words_are_no_result(answer):
    with pytest.raises(VerifierFailure, match="no result of an episode"):
        score(answer)
