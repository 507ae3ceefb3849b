"""Who speaks in a benchmark's protocol: a model, or any program of the user's, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from skillsv.agents import AgentOptions, make_agent
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Usage
from skillsv.model.task import Task


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


class Speaker(Protocol):
    """Says the next thing in a conversation. Remembers nothing: all it may know is in the messages."""

    @property
    def fingerprint(self) -> str:
        """Names everything that may change what it says."""

    async def reply(self, messages: Sequence[Message], situation: Situation, tools: Sequence[Tool] = ()) -> Reply:
        """The next thing it says."""


def make_speaker(spec: str, options: AgentOptions) -> Speaker:
    """The speaker that an agent's specification names: a model as such, any other agent as a program."""
    scheme, _, rest = spec.partition(":")
    if scheme == "model":
        from skillsv.benchmarks.model_speaker import ModelSpeaker

        make_agent(spec, replace(options, chat=replace(options.chat, tools="none")))  # says what is missing, and how
        return ModelSpeaker(rest, options)
    return ProgramSpeaker(make_agent(spec, options))


class ProgramSpeaker:
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
