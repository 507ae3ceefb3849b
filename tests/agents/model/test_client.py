"""The model client, through a model agent and a fake provider: requests, errors, keys, addresses and prices."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.errors import AgentFailure, SettingsError, Unavailable
from skillsv.model.rollout import FailureKind, Usage
from skillsv.model.task import Task
from skillsv.sandbox.redaction import redact

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

from fake_provider import say
from pydantic_ai.exceptions import ModelHTTPError, ModelRequestRejectedError

from skillsv.agents.model.client import check_url
from skillsv.agents.model.failures import to_failure

TASK = Task(id="t", input="What is six times seven?")
SKILL = "---\nname: faq\ndescription: Facts about  numbers.\n---\n\n# Numbers\n\n- Six times seven is 42.\n"


def agent_for(provider, timeout=20.0, **chat):
    options = ChatOptions(**{"base_url": provider.url, "tools": "none", **chat})
    return make_agent("model:openai:tiny", AgentOptions(timeout=timeout, chat=options))


def ask(agent, skill=None, task=TASK, replicate=0):
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(agent.run, skill, task, replicate, Path(folder))


def prompt(request, role):
    return "\n".join(message["content"] for message in request["messages"] if message["role"] == role)


def test_the_system_prompt_has_the_skill_and_the_user_prompt_the_task(provider, rendering):
    outcome = ask(agent_for(provider), rendering(SKILL))
    assert outcome.answer == "42"
    assert outcome.opened is True
    assert outcome.usage == Usage(input_tokens=100, output_tokens=7, usd=None)
    (request,) = provider.requests
    assert SKILL.strip() in prompt(request, "system")
    assert prompt(request, "user") == TASK.input
    assert "tools" not in request or not request["tools"]


def test_the_bare_agent_gets_no_skill(provider, rendering):
    outcome = ask(agent_for(provider), None)
    assert outcome.opened is False
    assert "42" not in json.dumps(provider.requests)
    empty = replace(rendering(SKILL), files=())
    ask(agent_for(provider), empty)
    assert provider.requests[0] == provider.requests[1]


def test_the_provider_gets_decoding_settings_and_the_replicate_as_seed(provider):
    ask(agent_for(provider, temperature=0.5, max_output_tokens=9, stop=("END",)), replicate=3)
    request = provider.requests[0]
    assert (request["temperature"], request["seed"], request["stop"]) == (0.5, 3, ["END"])
    assert 9 in (request.get("max_tokens"), request.get("max_completion_tokens"))
    ask(agent_for(provider, temperature=None))
    assert "temperature" not in provider.requests[1]


def test_the_fingerprint_changes_with_every_setting_that_changes_answers(provider):
    usual = agent_for(provider)
    changed = [
        agent_for(provider, **change)
        for change in (
            {"base_url": "http://127.0.0.1:1/v1"},
            {"deliver": "files"},
            {"tools": "files"},
            {"temperature": 1.0},
            {"temperature": None},
            {"max_output_tokens": 5},
            {"turns": 3},
            {"stop": ("x",)},
            {"sandbox": False},
            {"run_seconds": 1.0},
        )
    ]
    other = make_agent("model:openai:other", AgentOptions(chat=ChatOptions(base_url=provider.url, tools="none")))
    fingerprints = [agent.fingerprint for agent in (usual, other, *changed)]
    assert len(set(fingerprints)) == len(fingerprints)
    assert agent_for(provider, timeout=5.0).fingerprint == usual.fingerprint
    assert not any("secret" in text for text in fingerprints)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", FailureKind.RATE_LIMIT),
        ("500", FailureKind.OVERLOAD),
        ("503", FailureKind.OVERLOAD),
        ("529", FailureKind.OVERLOAD),
        ("400", FailureKind.BAD_REQUEST),
        ("405", FailureKind.BAD_REQUEST),
        ("408", FailureKind.TIMEOUT),
        ("409", FailureKind.OVERLOAD),
        ("413", FailureKind.CONTEXT_OVERFLOW),
        ("overflow", FailureKind.CONTEXT_OVERFLOW),
        ("llama-overflow", FailureKind.CONTEXT_OVERFLOW),
        ("malformed", FailureKind.BAD_OUTPUT),
        ("html", FailureKind.BAD_OUTPUT),
        ("no-choices", FailureKind.BAD_OUTPUT),
        ("empty-object", FailureKind.BAD_OUTPUT),
        ("choices-text", FailureKind.BAD_OUTPUT),
        ("filter", FailureKind.REFUSAL),
        ("cut", FailureKind.CONNECTION),
        ("drop", FailureKind.CONNECTION),
    ],
)
def test_an_error_of_the_provider_is_a_failure_of_its_kind(provider, fault, kind, key):
    provider.faults = [fault]
    with pytest.raises(AgentFailure) as caught:
        ask(agent_for(provider))
    assert caught.value.kind == kind
    assert caught.value.retry_after == (3.0 if fault == "429" else None)
    assert len(provider.requests) == 1, "the client does not retry: the runner does"
    assert key not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_wait_that_a_provider_asks_for_is_at_most_an_hour(provider):
    provider.faults = ["429-far-date"]
    with pytest.raises(AgentFailure) as caught:
        ask(agent_for(provider))
    assert caught.value.retry_after == 3600.0


@pytest.mark.parametrize("fault", ["401", "404", "402"])
def test_an_error_that_no_retry_can_solve_ends_the_run(provider, fault, key):
    provider.faults = [fault]
    with pytest.raises(Unavailable) as caught:
        ask(agent_for(provider))
    assert key not in str(caught.value)


def test_an_answer_that_comes_byte_by_byte_is_a_timeout(provider):
    provider.faults = ["dribble"]
    with pytest.raises(AgentFailure) as caught:
        ask(agent_for(provider, timeout=0.5))
    assert caught.value.kind == FailureKind.TIMEOUT


def test_a_closed_server_is_a_connection_failure(provider):
    agent = agent_for(provider)
    provider.close()
    with pytest.raises(AgentFailure) as caught:
        ask(agent)
    assert caught.value.kind == FailureKind.CONNECTION


def test_a_key_in_the_answer_is_redacted(provider, key):
    provider.reply = lambda _: {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"it is {key}"}}]
    }
    assert ask(agent_for(provider)).answer == "it is [OPENAI_API_KEY]"
    assert provider.headers[0]["authorization"] == f"Bearer {key}"


def test_one_agent_serves_several_event_loops(provider):
    agent = agent_for(provider)
    assert [ask(agent).answer for _ in range(3)] == ["42"] * 3


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://user:hunter2hunter2@127.0.0.1/v1", "holds more than an address"),
        ("http://127.0.0.1/v1?key=hunter2hunter2", "holds more than an address"),
        ("http://127.0.0.1/v1#hunter2hunter2", "holds more than an address"),
        ("http://127.0.0.1/v1#", "holds more than an address"),
        ("http://127.0.0.1/v1?", "holds more than an address"),
        ("http://127.0.0.1/#%/hunter2hunter2", "holds more than an address"),
        ("http://127.0.0.1/v1%", "is not the address of a server"),
        ("http://127.0.0.1/%zz", "is not the address of a server"),
        ("http://127.0.0%31/v1", "is not the address of a server"),
        ("http://127.0.0.1:port/v1", "is not the address of a server"),
        ("http://[127.0.0.1/v1", "is not the address of a server"),
        ("ftp://hunter2hunter2@127.0.0.1", "is not the address of a server"),
        ("127.0.0.1:80", "is not the address of a server"),
    ],
)
def test_a_bad_address_is_refused_and_its_secret_is_not_shown(url, message):
    with pytest.raises(SettingsError, match=message) as caught:
        make_agent("model:openai:x", AgentOptions(chat=ChatOptions(base_url=url, tools="none")))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8321/v1", "https://[::1]/a%20b", "http://localhost"])
def test_a_usable_address_is_accepted(url):
    assert check_url(f"{url}/") == url


@pytest.mark.parametrize("name", ["nobody:knows", "gpt", "anthropic:claude-sonnet-4-5"])
def test_an_unusable_model_is_refused_before_the_first_rollout(name, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(SettingsError, match="cannot be used"):
        make_agent(f"model:{name}", AgentOptions(chat=ChatOptions(tools="none")))


def test_a_base_url_with_another_provider_is_refused(provider):
    with pytest.raises(SettingsError, match="cannot be reached by a base URL"):
        make_agent("model:anthropic:x", AgentOptions(chat=ChatOptions(base_url=provider.url, tools="none")))


def test_prices_come_from_the_table_of_the_user(provider, tmp_path):
    (tmp_path / "prices.toml").write_text('["openai:tiny"]\ninput = 10.0\noutput = 100.0\n')
    chat = ChatOptions(base_url=provider.url, tools="none", prices=Path("prices.toml"))
    agent = make_agent("model:openai:tiny", AgentOptions(folder=tmp_path, chat=chat))
    assert ask(agent).usage.usd == pytest.approx((10 * 100 + 100 * 7) / 1e6)
    assert agent.fingerprint == agent_for(provider).fingerprint
    (tmp_path / "prices.toml").write_text('["openai:tiny"]\ninput = "free"\n')
    with pytest.raises(SettingsError, match=r"prices cannot be read"):
        make_agent("model:openai:tiny", AgentOptions(folder=tmp_path, chat=chat))


def test_a_server_from_a_variable_changes_fingerprint_and_price(provider, monkeypatch):
    usual = make_agent("model:openai-chat:gpt-4o", AgentOptions(chat=ChatOptions(tools="none"))).fingerprint
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    elsewhere = make_agent("model:openai-chat:gpt-4o", AgentOptions(chat=ChatOptions(tools="none")))
    assert elsewhere.fingerprint != usual
    assert ask(elsewhere).usage == Usage(input_tokens=100, output_tokens=7, usd=None)


@pytest.mark.parametrize("name", ["openai:tiny", "openai-chat:tiny"])
def test_a_variable_and_a_flag_use_the_same_protocol(provider, monkeypatch, name):
    flag = make_agent(f"model:{name}", AgentOptions(chat=ChatOptions(base_url=provider.url, tools="files")))
    assert ask(flag).answer == "42"
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    variable = make_agent(f"model:{name}", AgentOptions(chat=ChatOptions(tools="files")))
    assert ask(variable).answer == "42"
    assert provider.paths == ["/v1/chat/completions"] * 2
    assert provider.requests[0] == provider.requests[1]


@pytest.mark.parametrize(
    "broken", ["sk-very-secret-0123456789\n", " sk-very-secret-0123456789", "“sk-very-secret-0123456789”"]
)
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(provider, monkeypatch, broken):
    monkeypatch.setenv("OPENAI_API_KEY", broken)
    with pytest.raises(SettingsError, match="holds a space, a line break or a letter that no key has") as caught:
        agent_for(provider)
    assert "0123456789" not in str(caught.value)


def test_a_key_is_redacted_without_its_line_break(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh-1234\n")
    assert redact("it was abcdefgh-1234.") == "it was [SOME_API_KEY]."


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens",
        "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
    ],
)
def test_messages_about_long_prompts_are_recognised(words):
    def kind(message):
        about = {"status_code": 400, "model_name": "m", "body": {"message": message}}
        return to_failure(ModelHTTPError.for_category(ModelRequestRejectedError, **about), "m").kind

    assert kind(words) == FailureKind.CONTEXT_OVERFLOW
    assert kind("max_tokens of 9000 exceeds the maximum of 8192") == FailureKind.BAD_REQUEST


def test_a_lone_surrogate_in_an_answer_becomes_a_question_mark(provider):
    provider.reply = lambda _: say("a\ud800b")
    assert ask(agent_for(provider)).answer == "a?b"


@pytest.mark.parametrize("price", ["nan", "-1.0", "inf"])
def test_a_price_that_is_negative_or_infinite_is_refused(provider, tmp_path, price):
    (tmp_path / "prices.toml").write_text(f'["openai:tiny"]\ninput = {price}\noutput = 0\n')
    chat = ChatOptions(base_url=provider.url, tools="none", prices=Path("prices.toml"))
    with pytest.raises(SettingsError, match="0 or more"):
        make_agent("model:openai:tiny", AgentOptions(folder=tmp_path, chat=chat))


def test_a_price_of_zero_is_known(provider, tmp_path):
    (tmp_path / "prices.toml").write_text('["openai:tiny"]\ninput = 0\noutput = 0\n')
    chat = ChatOptions(base_url=provider.url, tools="none", prices=Path("prices.toml"))
    assert ask(make_agent("model:openai:tiny", AgentOptions(folder=tmp_path, chat=chat))).usage.usd == 0.0


@pytest.fixture
def anthropic(provider, monkeypatch):
    """An agent that uses Anthropic's protocol with the fake provider."""
    pytest.importorskip("anthropic", reason="Anthropic's client is not installed")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url.removesuffix("/v1"))
    return make_agent("model:anthropic:claude-x", AgentOptions(timeout=20.0, chat=ChatOptions(tools="files")))


def test_another_protocol_gives_the_same_answer(provider, anthropic, rendering):
    provider.faults = ["anthropic"]
    outcome = ask(anthropic, rendering(SKILL))
    assert (outcome.answer, outcome.usage) == ("42", Usage(input_tokens=100, output_tokens=7))
    (request,) = provider.requests
    assert SKILL.strip() in json.dumps(request["system"], ensure_ascii=False).replace("\\n", "\n")
    assert (request["max_tokens"], request["temperature"], len(request["tools"])) == (2048, 0.0, 4)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("anthropic-refusal", FailureKind.REFUSAL),
        ("anthropic-overflow", FailureKind.CONTEXT_OVERFLOW),
        ("anthropic-529", FailureKind.OVERLOAD),
        ("429", FailureKind.RATE_LIMIT),
        ("empty-object", FailureKind.BAD_OUTPUT),
        ("cut", FailureKind.CONNECTION),
    ],
)
def test_errors_in_another_protocol_have_the_same_failure_kinds(provider, anthropic, fault, kind):
    provider.faults = [fault]
    with pytest.raises(AgentFailure) as caught:
        ask(anthropic)
    assert caught.value.kind == kind
    assert "very-secret" not in str(caught.value)
    assert len(provider.requests) == 1, "the client does not retry: the runner does"


def test_a_server_of_the_user_needs_no_key(provider, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert ask(agent_for(provider)).answer == "42"
    assert "OPENAI_API_KEY" not in os.environ
