"""A model that can be asked: its connections, decoding settings, price, and trouble in the runner's words."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import tomllib
import urllib.parse
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

from skillsv.agents.model.failures import failure_of, missing_answer
from skillsv.agents.options import AgentOptions, ChatOptions
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import FailureKind, Usage
from skillsv.sandbox.redaction import redact

# The model that a specification names, and how it is asked.

_CHAT_PROVIDERS = frozenset({"openai", "openai-chat"})
"""Names of a provider that a base URL can replace."""


def make_model(name: str, base_url: str | None) -> Model:
    """The model `PROVIDER:NAME`; with a base URL, the one that an OpenAI-compatible server calls NAME.

    A base URL goes before OPENAI_BASE_URL. Both name a server that speaks OpenAI's chat completions; without either,
    the library chooses the protocol that it prefers for the provider.
    Keys come from the variables of the environment that the provider's own library reads (OPENAI_API_KEY, ...).
    """
    if base_url is not None:
        model = _compatible(name, checked_url(base_url))
    elif name.partition(":")[0] in _CHAT_PROVIDERS and redirected(name, None):
        model = _compatible(name, None)
    else:
        model = _inferred(name)
    key = getattr(getattr(model, "client", None), "api_key", "")
    if isinstance(key, str) and not (key.isascii() and key.isprintable() and key == key.strip()):
        # No header can hold it; the client would call that trouble with the connection, and be asked again.
        raise SettingsError(
            f"the key for `{name}` holds a space, a line break or a letter that no key has.",
            hint="Set the variable again (OPENAI_API_KEY, ...), without quotes and line breaks around the key.",
        )
    return model


def _inferred(name: str) -> Model:
    try:
        return infer_model(name)
    except (UserError, ValueError, ImportError) as error:
        first = redact(str(error)).split(". ")[0].rstrip(".")  # the rest advertises other ways to use the library
        raise SettingsError(f"the model `{name}` cannot be used: {first}.") from None


def _compatible(name: str, base_url: str | None) -> Model:
    """A model behind a server for chat completions; without a base URL the client reads OPENAI_BASE_URL."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider, _, model = name.partition(":")
    if provider not in _CHAT_PROVIDERS or not model:
        raise SettingsError(
            f"`model:{name}` cannot be reached by a base URL.",
            hint="Write model:openai:NAME for the server of the run, or let a program ask (command:, python:).",
        )
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url))


def redirected(name: str, base_url: str | None) -> bool:
    """Whether another server than the provider's own is asked, by the flag or by a variable (OPENAI_BASE_URL)."""
    provider = name.partition(":")[0].partition("-")[0]
    return base_url is not None or bool(os.environ.get(f"{provider.upper()}_BASE_URL"))


def checked_url(url: str) -> str:
    """The address of a server, refused where it holds a secret: it is written into the records of the run."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"`{_bare(parts)}` is not the address of a server.", hint="Write http://127.0.0.1:8321/v1.")
    if parts.username or parts.password or parts.query:
        raise SettingsError(
            f"the base URL of {parts.hostname} holds more than an address.",
            hint="Keys come from the environment (OPENAI_API_KEY), never from a flag.",
        )
    return url.rstrip("/")


def _bare(parts: urllib.parse.SplitResult) -> str:
    """The address without what may be secret."""
    host = parts.netloc.rpartition("@")[2]
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))


def request_settings(options: ChatOptions, replicate: int, timeout: float | None) -> ModelSettings:
    """Decoding settings of one rollout. The replicate is the seed, so that a repeated rollout repeats where it can.

    The provider's library must not retry: the runner does, where it is counted, paced and limited.
    """
    settings = ModelSettings(max_tokens=options.max_output_tokens, seed=replicate, max_retries=0)
    if options.temperature is not None:
        settings["temperature"] = options.temperature
    if options.stop:
        settings["stop_sequences"] = list(options.stop)
    if timeout is not None:
        settings["timeout"] = timeout
    return settings


# What an answer cost: by the user's table, else by the public price list, else unknown.


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) and number >= 0 for number in (self.input, self.output)):
            raise ValueError("a price is a number of dollars, 0 or more")

    def of(self, usage: Usage) -> float | None:
        """The price of this usage; None where a count is unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6


def read_prices(file: Path) -> Mapping[str, Price]:
    """A TOML table such as `["openai:gpt-x"]` with `input = 1.25` and `output = 10.0`."""
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, Price])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(
            f"the prices cannot be read: {error}.",
            where=str(file),
            hint='Write ["openai:NAME"] and below it input = 1.25 and output = 10.0 (US dollars per million tokens).',
        ) from error


def usage_of(response: ModelResponse, price: Price | None, *, listed: bool) -> Usage:
    """What one answer used. `listed`: the provider is the real one, so that the public list of prices applies."""
    counts = response.usage
    if not counts.input_tokens and not counts.output_tokens:
        return Usage()
    usage = Usage(input_tokens=counts.input_tokens, output_tokens=counts.output_tokens)
    usd = price.of(usage) if price is not None else _listed(response) if listed else None
    return Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, usd=usd)


def is_listed(model: str, provider: str, server: str | None) -> bool:
    """Whether the public list has a price of this model."""
    used = RequestUsage(input_tokens=1, output_tokens=1)
    response = ModelResponse(parts=[], model_name=model, provider_name=provider, provider_url=server, usage=used)
    return _listed(response) is not None


def _listed(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


class ModelClient:
    """Puts messages to one model and gives back what it said and what that cost. It remembers nothing."""

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._name = name
        self._options = options
        self._chat = options.chat
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, Model] = WeakKeyDictionary()
        first = make_model(name, self._chat.base_url)
        self._spare: list[Model] = [first]
        self._server = self._chat.base_url or first.base_url
        self._price = _price_of(name, options)

    def fingerprint(self, *more: object) -> str:
        """Covers the model, the server and the decoding settings, and whatever else may change an answer."""
        told = {name: value for name, value in asdict(self._chat).items() if name != "prices"}
        told["base_url"] = self._server  # a variable such as OPENAI_BASE_URL leads elsewhere, too
        whole = msgspec.json.encode([self._name, told, *more], order="sorted")
        return f"model/1:{self._name}:{hashlib.sha256(whole).hexdigest()}"

    async def ask(
        self, messages: Sequence[ModelMessage], replicate: int, tools: Sequence[ToolDefinition] = ()
    ) -> tuple[ModelResponse, Usage]:
        """The model's next words. Trouble of the provider or of the connection raises AgentFailure, and so do no words.

        Words that the token limit has cut are given back; `is_cut` tells them from whole ones.
        """
        settings = request_settings(self._chat, replicate, self._options.timeout)
        parameters = ModelRequestParameters(function_tools=list(tools))
        try:
            response = await model_request(
                self._model(), list(messages), model_settings=settings, model_request_parameters=parameters
            )
        except (AgentRunError, UserError) as error:
            raise failure_of(
                error, self._chat.base_url or self._name
            ) from None  # the cause may hold a key in its words
        except (LookupError, AttributeError, TypeError):  # the library does not look whether a choice is there
            raise AgentFailure("the provider's answer holds no choice.", kind=FailureKind.BAD_OUTPUT) from None
        usage = usage_of(response, self._price, listed=not redirected(self._name, self._chat.base_url))
        failure = missing_answer(response, self._chat.max_output_tokens)
        if failure is not None:
            failure.usage = usage
            raise failure
        return response, usage

    def _model(self) -> Model:
        """The model for this event loop: open connections cannot be carried from one loop to another."""
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            self._models[loop] = self._spare.pop() if self._spare else make_model(self._name, self._chat.base_url)
        return self._models[loop]


def has_price(name: str, options: AgentOptions) -> bool:
    """Whether the user's table, or the public list for a provider's own server, has a price of this model."""
    if _price_of(name, options) is not None:
        return True
    if redirected(name, options.chat.base_url):
        return False
    model = make_model(name, None)
    return is_listed(model.model_name, model.system, model.base_url)


def _price_of(name: str, options: AgentOptions) -> Price | None:
    if options.chat.prices is None:
        return None
    return read_prices(options.folder / options.chat.prices).get(name)
