"""The model client: sends messages to one model, with its connections, decoding settings, prices and errors."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import msgspec
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.model.failures import find_missing_answer, to_failure
from skillsv.agents.options import AgentOptions, ChatOptions
from skillsv.agents.server_address import check_url
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import FailureKind, Usage
from skillsv.sandbox.redaction import redact

_CHAT_PROVIDERS = frozenset({"openai", "openai-chat"})
"""Providers whose server a base URL can replace."""


class ModelClient:
    """Sends messages to one model, and returns its response and the usage. It keeps no messages between calls."""

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._name = name
        self._options = options
        self._chat = options.chat
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, Model] = WeakKeyDictionary()
        first = make_model(name, self._chat.base_url)
        self._unused_models: list[Model] = [first]
        self._server = self._chat.base_url or first.base_url
        self._price = _find_price(name, options)
        self._inputs = AgentInputs(options, forwarded=False)

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._inputs.find_change()

    def fingerprint(self, *parts: object) -> str:
        """Covers the model, the server and the decoding settings; `parts` is all else that may change an answer."""
        settings = {name: value for name, value in asdict(self._chat).items() if name != "prices"}
        settings["base_url"] = self._server  # a variable such as OPENAI_BASE_URL also selects the server
        encoded = msgspec.json.encode([self._name, settings, *parts], order="sorted")
        return self._inputs.extend(f"model/1:{self._name}:{hashlib.sha256(encoded).hexdigest()}")

    async def ask(
        self, messages: Sequence[ModelMessage], replicate: int, tools: Sequence[ToolDefinition] = ()
    ) -> tuple[ModelResponse, Usage]:
        """The next response of the model, and its usage.

        An error of the provider or of the connection, and an empty response raise AgentFailure. A response that the
        token limit cut is returned; `is_cut` recognises it.
        """
        settings = request_settings(self._chat, replicate, self._options.timeout)
        parameters = ModelRequestParameters(function_tools=list(tools))
        try:
            response = await model_request(
                self._model(), list(messages), model_settings=settings, model_request_parameters=parameters
            )
        except (AgentRunError, UserError) as error:
            # Without the cause: its message may hold a key.
            raise to_failure(error, self._chat.base_url or self._name) from None
        except (LookupError, AttributeError, TypeError):  # the library does not check that the answer has a choice
            raise AgentFailure("the provider's answer holds no choice.", kind=FailureKind.BAD_OUTPUT) from None
        usage = measure_usage(response, self._price, public=not uses_other_server(self._name, self._chat.base_url))
        failure = find_missing_answer(response, self._chat.max_output_tokens)
        if failure is not None:
            failure.usage = usage
            raise failure
        return response, usage

    def _model(self) -> Model:
        """The model for this event loop: open connections cannot move from one loop to another."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            unused = self._unused_models
            self._models[loop] = unused.pop() if unused else make_model(self._name, self._chat.base_url)
        return self._models[loop]


# Model and request


def make_model(name: str, base_url: str | None) -> Model:
    """The model `PROVIDER:NAME`; with a base URL, the model that an OpenAI-compatible server calls NAME.

    A base URL takes precedence over OPENAI_BASE_URL. Both name a server for OpenAI's chat completions. Without either,
    the library chooses the protocol that it prefers for the provider.
    Keys come from the environment variables that the provider's own library reads (OPENAI_API_KEY, ...).
    """
    if base_url is not None:
        model = _make_compatible_model(name, check_url(base_url))
    elif name.partition(":")[0] in _CHAT_PROVIDERS and uses_other_server(name, None):
        model = _make_compatible_model(name, None)
    else:
        model = _infer_model(name)
    key = getattr(getattr(model, "client", None), "api_key", "")
    if isinstance(key, str) and not (key.isascii() and key.isprintable() and key == key.strip()):
        # No HTTP header can hold it. The library would report a connection error, which would be retried.
        raise SettingsError(
            f"the key for `{name}` holds a space, a line break or a letter that no key has.",
            hint="Set the variable again (OPENAI_API_KEY, ...), without quotes and line breaks around the key.",
        )
    return model


def _infer_model(name: str) -> Model:
    try:
        return infer_model(name)
    except (UserError, ValueError, ImportError) as error:
        reason = redact(str(error)).split(". ")[0].rstrip(".")  # later sentences advertise other uses of the library
        raise SettingsError(f"the model `{name}` cannot be used: {reason}.") from None


def _make_compatible_model(name: str, base_url: str | None) -> Model:
    """A model behind a server for chat completions; without a base URL the library reads OPENAI_BASE_URL."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider, _, model = name.partition(":")
    if provider not in _CHAT_PROVIDERS or not model:
        raise SettingsError(
            f"`model:{name}` cannot be reached by a base URL.",
            hint="Write model:openai:NAME for the server of the run, or let a program ask (command:, python:).",
        )
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url))


def uses_other_server(name: str, base_url: str | None) -> bool:
    """Whether a flag or a variable (OPENAI_BASE_URL) replaces the provider's own server."""
    provider = name.partition(":")[0].partition("-")[0]
    return base_url is not None or bool(os.environ.get(f"{provider.upper()}_BASE_URL"))


def request_settings(options: ChatOptions, replicate: int, timeout: float | None) -> ModelSettings:
    """Decoding settings of one rollout. The seed is the replicate, so that a provider can repeat an answer.

    The provider's library must not retry: the runner retries, and it counts, delays and limits its attempts.
    """
    settings = ModelSettings(max_tokens=options.max_output_tokens, seed=replicate, max_retries=0)
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    if options.stop:
        settings["stop_sequences"] = list(options.stop)
    if timeout is not None:
        settings["timeout"] = timeout
    return settings


# Usage and prices: the user's table first, then the public price list, else the price is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) and number >= 0 for number in (self.input, self.output)):
            raise ValueError("a price is a number of dollars, 0 or more")

    def cost(self, usage: Usage) -> float | None:
        """The cost of this usage in US dollars; None if a count is unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6


def has_price(name: str, options: AgentOptions) -> bool:
    """Whether the user's table has a price of this model, or the public list for the provider's own server."""
    if _find_price(name, options) is not None:
        return True
    if uses_other_server(name, options.chat.base_url):
        return False
    model = make_model(name, None)
    usage = RequestUsage(input_tokens=1, output_tokens=1)
    response = ModelResponse(
        parts=[], model_name=model.model_name, provider_name=model.system, provider_url=model.base_url, usage=usage
    )
    return _public_cost(response) is not None


def read_prices(file: Path) -> Mapping[str, Price]:
    """A TOML table such as `["openai:gpt-x"]` with `input = 1.25` and `output = 10.0`."""
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, Price])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise SettingsError(
            f"the prices cannot be read: {error}.",
            where=str(file),
            hint='Write ["openai:NAME"] and below it input = 1.25 and output = 10.0 (US dollars per million tokens).',
        ) from error


def _find_price(name: str, options: AgentOptions) -> Price | None:
    """The price in the user's table."""
    if options.chat.prices is None:
        return None
    return read_prices(options.folder / options.chat.prices).get(name)


def measure_usage(response: ModelResponse, price: Price | None, *, public: bool) -> Usage:
    """Tokens and cost of one response. `public`: the provider's own server answered, so public prices apply."""
    counts = response.usage
    if not counts.input_tokens and not counts.output_tokens:
        return Usage()
    usage = Usage(input_tokens=counts.input_tokens, output_tokens=counts.output_tokens)
    usd = price.cost(usage) if price is not None else _public_cost(response) if public else None
    return Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, usd=usd)


def _public_cost(response: ModelResponse) -> float | None:
    """The cost in US dollars by the public price list; None if the list does not have the model."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
