"""Which agents share the limits of a provider."""

import pytest

from skillsv.agents import name_provider


@pytest.mark.parametrize(
    ("spec", "provider"),
    [
        ("model:openai:gpt-x", "openai"),
        ("model:openai-chat:gpt-y", "openai"),
        ("model:anthropic:claude-x", "anthropic"),
        ("claude-code:claude-x", "anthropic"),
        ("codex:gpt-x", "openai"),
        ("aider:openai/gpt-x", "openai"),
        ("command:./agent.sh", "command:./agent.sh"),
        ("python:agent.py:run", "python:agent.py:run"),
        ("rules", "rules"),
    ],
)
def test_agents_are_named_by_the_provider_they_ask(spec, provider, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert name_provider(spec, None) == provider


def test_a_server_of_the_user_is_its_own_provider(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert name_provider("model:openai:x", "http://127.0.0.1:1/v1") == "http://127.0.0.1:1/v1"
    assert name_provider("model:openai:x", None) == "http://127.0.0.1:2/v1"
    assert name_provider("command:./agent.sh", "http://127.0.0.1:1/v1") == "command:./agent.sh"
