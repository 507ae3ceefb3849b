"""The model that a specification names, and how it is asked."""

from __future__ import annotations

import os
import urllib.parse

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.settings import ModelSettings

from skillsv.agents.options import ChatOptions
from skillsv.agents.redact import redacted
from skillsv.errors import SettingsError

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
        first = redacted(str(error)).split(". ")[0].rstrip(".")  # the rest advertises other ways to use the library
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
