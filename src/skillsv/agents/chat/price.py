"""What an answer cost: by the user's table, else by the public price list, else unknown."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from skillsv.errors import SettingsError
from skillsv.model.rollout import Usage


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
