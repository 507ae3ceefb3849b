"""A conversation of a benchmark's protocol: its messages, its tools, and the client that answers turn by turn."""

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
class Call:
    """A tool call that a speaker makes. `error` says why its arguments cannot be read."""

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


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


def transcript(messages: Sequence[Message], limit: int = 200_000) -> str:
    """A conversation as people read it."""
    return "\n\n".join(_shown(message) for message in messages)[:limit]


def _shown(message: Message) -> str:
    calls = [f"> {call.tool} {msgspec.json.encode(dict(call.arguments)).decode()}" for call in message.calls]
    name = message.call.tool if message.call is not None else message.role
    return "\n".join([f"[{name}]", *([message.text] if message.text else []), *calls])
