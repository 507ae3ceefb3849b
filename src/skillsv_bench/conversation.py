"""A conversation of a benchmark's protocol: messages, tools, and the protocol of the client that replies each turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Ending, Usage
from skillsv.model.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call by a client. `error` says why its arguments cannot be read."""

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation. `calls` are the tool calls of an assistant; `call` is the one a tool answers."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it is described to a client; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutContext:
    """The rollout that a conversation belongs to. `extra` has facts about this turn, for programs."""

    skill: Rendering | None
    task: Task
    replicate: int
    workspace: Path
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A client's text, its tool calls and their usage. `cut` is True if the token limit ended the reply."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: bool = False

    @property
    def message(self) -> Message:
        """The reply as a message of the conversation."""
        return Message(role="assistant", text=self.text, calls=self.calls)

    @property
    def ending(self) -> Ending:
        """How a rollout ended if this is its last reply."""
        return Ending.CUT if self.cut else Ending.ANSWERED


class ChatClient(Protocol):
    """Gives the next reply of a conversation. It has no memory: the messages hold all that it knows."""

    @property
    def fingerprint(self) -> str:
        """Identifies everything that can change a reply."""

    async def reply(self, messages: Sequence[Message], context: RolloutContext, tools: Sequence[Tool] = ()) -> Reply:
        """Give the next reply."""


def transcript(messages: Sequence[Message], limit: int = 200_000) -> str:
    """Write a conversation as text for people, at most `limit` characters."""
    return "\n\n".join(_format_message(message) for message in messages)[:limit]


def _format_message(message: Message) -> str:
    calls = [f"> {call.tool} {msgspec.json.encode(dict(call.arguments)).decode()}" for call in message.calls]
    name = message.call.tool if message.call is not None else message.role
    return "\n".join([f"[{name}]", *([message.text] if message.text else []), *calls])
