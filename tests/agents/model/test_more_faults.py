"""Twenty more faults of a provider, as raw responses: each is a failure with a kind, and none is ever scored."""

from __future__ import annotations

import json

import anyio
import fake_provider
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.errors import SkillSVError
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import RolloutKey
from skillsv.model.task import Task
from skillsv.rollout import LocalEngine
from skillsv.rollout.engine import Job

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

TASK = Task(id="t", input="?", digest="digest")
BARE = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="s", main="SKILL.md", files=(), digest="x")


def choices(value):
    return json.dumps(fake_provider.envelope({"choices": value})).encode()


def message(**fields):
    return choices([{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **fields}}])


RESPONSES = {
    "no choices": (200, choices([])),
    "choices are null": (200, choices(None)),
    "choices are a text": (200, choices("42")),
    "choice is null": (200, choices([None])),
    "message is null": (200, choices([{"index": 0, "finish_reason": "stop", "message": None}])),
    "no content": (200, message()),
    "content is a number": (200, message(content=42)),
    "content is a list": (200, message(content=[])),
    "content is white space": (200, message(content=" \n\t\u200b".replace("\u200b", ""))),
    "refusal": (200, message(content=None, refusal="no")),
    "tool calls are null": (200, message(content=None, tool_calls=None)),
    "error with status 200": (200, b'{"error": {"message": "overloaded", "code": 500}}'),
    "page of a proxy": (200, b"<html><body>502 Bad Gateway</body></html>"),
    "empty body": (200, b""),
    "null": (200, b"null"),
    "list": (200, b"[]"),
    "half of JSON": (200, choices([])[:-20]),
    "no UTF-8": (200, message(content="X").replace(b'"X"', b'"\xff\xfe"')),
    "deep JSON": (200, b'{"choices": ' + b"[" * 50_000),
    "unknown status": (599, b"{}"),
}


@pytest.mark.parametrize(("status", "body"), RESPONSES.values(), ids=RESPONSES)
def test_a_broken_response_is_never_scored(provider, monkeypatch, key, status, body):
    monkeypatch.setitem(fake_provider.FAULTS, "raw", lambda handler, *_: fake_provider.send(handler, status, body))
    provider.faults = ["raw"] * 20
    chat = ChatOptions(base_url=provider.url, tools="none")
    agent = make_agent("model:openai:tiny", AgentOptions(timeout=20.0, chat=chat))
    scored = []

    class Everything:
        async def score(self, task, outcome, workspace):
            scored.append(outcome.answer)
            return 1.0

    job = Job(key=RolloutKey(tree="x", task="d", agent=agent.fingerprint), skill=BARE, task=TASK, timeout=20.0)
    try:
        rollout = anyio.run(LocalEngine(agent, Everything()).run, job)
        message = rollout.failure.message
    except SkillSVError as error:
        message = str(error)
    assert message
    assert key not in message
    assert scored == []
