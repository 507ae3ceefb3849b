"""A language model as the client of a benchmark's conversation. Needs the extra `models`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from skillsv.extend.model_clients import ModelClient, is_cut, redact
from skillsv.extend.task_sources import AgentOptions
from skillsv_bench.conversation import Message, Reply, RolloutContext, Tool, ToolCall


class ModelChatClient:
    """Asks a model for the next message."""

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._model = ModelClient(name, options)

    @property
    def fingerprint(self) -> str:
        """The model, its server and its decoding settings."""
        return self._model.fingerprint()

    async def reply(self, messages: Sequence[Message], context: RolloutContext, tools: Sequence[Tool] = ()) -> Reply:
        """Send the messages to the model once."""
        offered = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in tools
        ]
        response, usage = await self._model.ask(tuple(_convert_messages(messages)), context.replicate, offered)
        calls = tuple(_convert_call(part) for part in response.tool_calls)
        return Reply(text=redact(response.text or ""), calls=calls, usage=usage, cut=is_cut(response))


def _convert_call(part: ToolCallPart) -> ToolCall:
    try:
        arguments = part.args_as_dict()
    except (ValueError, AssertionError):
        return ToolCall(id=part.tool_call_id, tool=part.tool_name, error="the arguments are not a JSON object.")
    return ToolCall(id=part.tool_call_id, tool=part.tool_name, arguments=arguments)


def _convert_messages(messages: Sequence[Message]) -> Iterator[ModelMessage]:
    """Convert messages; neighbouring messages that are not the assistant's become one request."""
    for from_assistant, group in groupby(messages, key=lambda message: message.role == "assistant"):
        if from_assistant:
            yield from (ModelResponse(parts=_response_parts(message)) for message in group)
        else:
            yield ModelRequest(parts=[_request_part(message) for message in group])


def _response_parts(message: Message) -> list[ModelResponsePart]:
    calls = [
        ToolCallPart(tool_name=call.tool, args=dict(call.arguments), tool_call_id=call.id) for call in message.calls
    ]
    return [*([TextPart(content=message.text)] if message.text else []), *calls]


def _request_part(message: Message) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(content=message.text)
    if message.call is not None:
        return ToolReturnPart(tool_name=message.call.tool, content=message.text, tool_call_id=message.call.id)
    return UserPromptPart(content=message.text)
