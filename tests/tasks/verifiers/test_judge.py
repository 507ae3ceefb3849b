"""The verifier `judge`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import anyio
import pytest

from skillsv.errors import AgentFailure, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks import make_verifier


def judged_task(target: list[str], verifier: str = "judge", **more) -> Task:
    return Task(id="t1", input="What?", target=target, verifier=verifier, **more)


def score(task: Task, answer: str, folder: Path, **options) -> float:
    verifier = make_verifier([task], folder=folder, **options)
    return anyio.run(verifier.score, task, Outcome(answer=answer), folder)


class Judge:
    fingerprint = "judge/1"

    def __init__(self, reply: str | Exception) -> None:
        self.reply = reply
        self.seen: list[tuple] = []

    async def run(self, skill, task, replicate, workspace):
        self.seen.append((skill, task, workspace))
        if isinstance(self.reply, Exception):
            raise self.reply
        return Outcome(answer=self.reply)


@pytest.mark.parametrize(
    ("reply", "share"),
    [
        ("1: yes\n2: no", 0.5),
        ("1. Yes\n2. Yes", 1.0),
        ("**1:** PASS\n**2:** fail, because", 0.5),
        ("1: no\n2: no\n3: yes", 0.0),
    ],
)
def test_score_is_the_share_of_expectations_that_are_met(tmp_path, reply, share):
    judge = Judge(reply)
    one = judged_task(["Has axes", "Is polite"], verifier="judge:model:x", metadata={"hint": "secret"})
    specs: list[str] = []
    other = dataclasses.replace(one, id="t2")
    verifier = make_verifier([one, other], folder=tmp_path, judge=lambda spec: specs.append(spec) or judge)
    assert anyio.run(verifier.score, one, Outcome(answer="the answer"), tmp_path) == share
    assert specs == ["model:x"]
    ((skill, question, _),) = judge.seen
    assert skill is None
    assert "the answer" in question.input
    assert "2. Is polite" in question.input
    assert question.metadata == {}


@pytest.mark.parametrize("reply", ["", "1: yes", "looks good to me", "2: yes\n3: yes"])
def test_reply_without_a_ruling_is_a_failure(tmp_path, reply):
    with pytest.raises(VerifierFailure, match="did not rule on expectation"):
        score(judged_task(["a", "b"]), "x", tmp_path, judge=lambda spec: Judge(reply))


def test_rate_limit_of_the_judge_keeps_its_kind(tmp_path):
    error = AgentFailure("slow down", kind="rate-limit", retry_after=3.0)
    with pytest.raises(AgentFailure) as caught:
        score(judged_task(["a"]), "x", tmp_path, judge=lambda spec: Judge(error))
    assert (caught.value.kind, caught.value.retry_after) == ("rate-limit", 3.0)
