"""The local server gives one answer to one prompt, to the last digit, whatever it was asked before."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from skillsv.agents.local_server import LocalServer

pytestmark = pytest.mark.heavy

PACKAGES = ()

SKILL = (Path(__file__).parents[2] / "examples" / "faq" / "SKILL.md").read_text()
QUESTION = "What is the name of the harbour master?"


@pytest.fixture
def server(weights):
    """A server of its own for each test: what was asked before is known."""
    with LocalServer(weights) as running:
        yield running


def ask(server, skill, question, *, cache=True):
    """The chances of the first words of the answer, and how much of the prompt was known from before."""
    body = {
        "messages": [{"role": "system", "content": skill}, {"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": 3,
        "logprobs": True,
        "top_logprobs": 1,
        "cache_prompt": cache,
    }
    request = urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=300) as answer:
        found = json.load(answer)
    chances = [token["logprob"] for token in found["choices"][0]["logprobs"]["content"]]
    return chances, found["timings"]["cache_n"]


def test_an_answer_does_not_depend_on_what_was_asked_before(server):
    cold, nothing = ask(server, SKILL, QUESTION, cache=False)
    ask(server, SKILL, "Hello?")
    warm, much = ask(server, SKILL, QUESTION)
    ask(server, SKILL.replace("- The ferry to Marrow Island is called the Saltwhistle.\n", ""), QUESTION)
    after_another, more = ask(server, SKILL, QUESTION)
    assert len({nothing, much, more}) == 3, "the cache was used, and each time differently"
    assert warm == cold
    assert after_another == cold
