"""Models that are named PROVIDER/MODEL: the keys of providers, the check of a name, errors of the library litellm."""

from __future__ import annotations

import re
from collections.abc import Mapping

PROVIDER_KEYS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GEMINI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The variables with the key of a provider. `--forward-env` names those of others."""

OTHER_KEY = "OPENAI_API_KEY"
"""The key of a provider that is not in the table: a server of the user that speaks the protocol of OpenAI."""


LITELLM_STATUSES: Mapping[str, int] = {
    "AuthenticationError": 401,
    "BadRequestError": 400,
    "ContextWindowExceededError": 413,
    "InternalServerError": 500,
    "NotFoundError": 404,
    "PermissionDeniedError": 403,
    "RateLimitError": 429,
    "ServiceUnavailableError": 503,
    "Timeout": 408,
}
"""HTTP statuses by the name of litellm's exception, which mini-swe-agent and aider show instead of a status."""


def litellm_status(message: str) -> int | None:
    """The HTTP status of an error of litellm."""
    found = re.search(r"litellm\.(\w+)", message)
    return None if found is None else LITELLM_STATUSES.get(found.group(1))


def split_model(model: str) -> tuple[str, str]:
    """Provider and model of `PROVIDER/MODEL`."""
    provider, _, name = model.partition("/")
    return provider, name


def provider_keys(model: str) -> tuple[str, ...]:
    """The variables with the key for a model."""
    return PROVIDER_KEYS.get(split_model(model)[0], (OTHER_KEY,))


def check_provider(model: str) -> str | None:
    """Why the name of a model cannot be used; None if it can."""
    return None if all(split_model(model)) else f"`{model}` names no provider; write PROVIDER/MODEL."
