"""A model that can be asked: its connections, decoding settings, price, and trouble in the runner's words."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from weakref import WeakKeyDictionary

import msgspec
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from skillsv.agents.chat.ending import missing_answer
from skillsv.agents.chat.model import make_model, redirected, request_settings
from skillsv.agents.chat.price import Price, is_listed, read_prices, usage_of
from skillsv.agents.chat.trouble import trouble_of
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure
from skillsv.model.rollout import FailureKind, Usage


class Speaker:
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
            raise trouble_of(
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
