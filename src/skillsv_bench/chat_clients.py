"""Who speaks in a benchmark's protocol: a model, or any program of the user's, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
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

from skillsv.agents import AgentOptions, make_agent
from skillsv.agents.model import ModelClient as Model
from skillsv.agents.model.failures import is_cut
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Usage
from skillsv.model.task import Task
from skillsv.sandbox.redaction import redact


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call that a speaker makes. `trouble` says why its arguments cannot be read."""

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation. `calls` are the tool calls of an assistant; `call` is the one a tool answers."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[Call, ...] = ()
    call: Call | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as a speaker is told of it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The rollout that is going on. `more` is what a program may want to know of this turn, beside the messages."""

    skill: Rendering | None
    task: Task
    replicate: int
    workspace: Path
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a speaker said, the tools it wants, what that cost. `cut`: the token limit ended it."""

    text: str
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: bool = False

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation."""
        return Message(role="assistant", text=self.text, calls=self.calls)

    @property
    def ending(self) -> Ending:
        """How a rollout ended whose last word this is."""
        return Ending.CUT if self.cut else Ending.ANSWERED


class ChatClient(Protocol):
    """Says the next thing in a conversation. Remembers nothing: all it may know is in the messages."""

    @property
    def fingerprint(self) -> str:
        """Names everything that may change what it says."""

    async def reply(self, messages: Sequence[Message], situation: Situation, tools: Sequence[Tool] = ()) -> Reply:
        """The next thing it says."""


def make_chat_client(spec: str, options: AgentOptions) -> ChatClient:
    """The speaker that an agent's specification names: a model as such, any other agent as a program."""
    scheme, _, rest = spec.partition(":")
    if scheme == "model":
        make_agent(spec, replace(options, chat=replace(options.chat, tools="none")))  # says what is missing, and how
        return ModelChatClient(rest, options)
    return ProgramClient(make_agent(spec, options))


class ProgramClient:
    """An ordinary agent that is asked once a turn.

    Its task's input is what the user said last; `metadata` holds the turn's number, all messages, and what the
    protocol adds. Tools of the protocol are not offered: a program has the task's files in its working folder.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def fingerprint(self) -> str:
        """The program's own."""
        return self._agent.fingerprint

    async def reply(self, messages: Sequence[Message], situation: Situation, tools: Sequence[Tool] = ()) -> Reply:
        """Run the program once."""
        del tools
        said = [message.text for message in messages if message.role == "user"]
        turn = sum(message.role == "assistant" for message in messages)
        talk = [{"role": message.role, "text": message.text} for message in messages]
        metadata = {**situation.task.metadata, **situation.more, "turn": turn, "messages": talk}
        task = replace(situation.task, input=said[-1] if said else situation.task.input, metadata=metadata)
        outcome = await self._agent.run(situation.skill, task, situation.replicate, situation.workspace)
        return Reply(text=outcome.answer, usage=outcome.usage, cut=outcome.ending is Ending.CUT)


def transcript(messages: Sequence[Message], limit: int = 200_000) -> str:
    """A conversation as people read it."""
    return "\n\n".join(_shown(message) for message in messages)[:limit]


def _shown(message: Message) -> str:
    calls = [f"> {call.tool} {msgspec.json.encode(dict(call.arguments)).decode()}" for call in message.calls]
    name = message.call.tool if message.call is not None else message.role
    return "\n".join([f"[{name}]", *([message.text] if message.text else []), *calls])


# A language model as the speaker of a benchmark's protocol: its messages and tools in the library's words.


class ModelChatClient:
    """Asks a model for the next message."""

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._model = Model(name, options)

    @property
    def fingerprint(self) -> str:
        """The model, its server and its decoding settings."""
        return self._model.fingerprint()

    async def reply(self, messages: Sequence[Message], situation: Situation, tools: Sequence[Tool] = ()) -> Reply:
        """Ask once."""
        offered = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in tools
        ]
        response, usage = await self._model.ask(tuple(_translated(messages)), situation.replicate, offered)
        calls = tuple(_call(part) for part in response.tool_calls)
        return Reply(text=redact(response.text or ""), calls=calls, usage=usage, cut=is_cut(response))


def _call(part: ToolCallPart) -> Call:
    try:
        arguments = part.args_as_dict()
    except (ValueError, AssertionError):
        return Call(id=part.tool_call_id, tool=part.tool_name, trouble="the arguments are not a JSON object.")
    return Call(id=part.tool_call_id, tool=part.tool_name, arguments=arguments)


def _translated(messages: Sequence[Message]) -> Iterator[ModelMessage]:
    """Messages of one side that follow each other are one request."""
    for spoken, group in groupby(messages, key=lambda message: message.role == "assistant"):
        if spoken:
            yield from (ModelResponse(parts=_said(message)) for message in group)
        else:
            yield ModelRequest(parts=[_asked(message) for message in group])


def _said(message: Message) -> list[ModelResponsePart]:
    calls = [
        ToolCallPart(tool_name=call.tool, args=dict(call.arguments), tool_call_id=call.id) for call in message.calls
    ]
    return [*([TextPart(content=message.text)] if message.text else []), *calls]


def _asked(message: Message) -> ModelRequestPart:
    if message.role == "system":
        return SystemPromptPart(content=message.text)
    if message.call is not None:
        return ToolReturnPart(tool_name=message.call.tool, content=message.text, tool_call_id=message.call.id)
    return UserPromptPart(content=message.text)
