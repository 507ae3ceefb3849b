"""The protocol around a speaker: it writes programs until one of them saves a workbook."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from skillsv.agents import AgentOptions
from skillsv.errors import RolloutError
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox.workspace import disk_trouble
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, Situation, transcript
from skillsv_bench.spreadsheetbench.programs import Runner, is_file
from skillsv_bench.spreadsheetbench.prompt import INPUT, NO_CODE, code_in, failure_message, system_message
from skillsv_bench.spreadsheetbench.verify import OUTPUT


@dataclass(slots=True, kw_only=True)
class _Talk:
    """How far a conversation got."""

    messages: list[Message]
    usage: Usage = field(default_factory=Usage)
    answer: str = ""
    ending: Ending = Ending.ANSWERED


class Programmer:
    """Asks a speaker for a program, runs it, and tells how it failed, up to `turns` times."""

    def __init__(self, speaker: ChatClient, runner: Runner, turns: int) -> None:
        self._speaker = speaker
        self._runner = runner
        self._turns = turns

    @property
    def fingerprint(self) -> str:
        """The protocol's version, what programs may use, and the speaker's own."""
        runner = self._runner
        how = f"turns={self._turns},seconds={runner.limits.seconds:g},sandbox={runner.sandbox}"
        return f"spreadsheetbench/1({how},{runner.libraries.versions}):{self._speaker.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Work on one task. The answer is the last program; the verifier looks at the workbook it saved."""
        system = system_message(skill, self._runner.libraries.names)
        talk = _Talk(messages=[Message(role="system", text=system), Message(role="user", text=task.input)])
        situation = Situation(skill=skill, task=task, replicate=replicate, workspace=workspace)
        try:
            await self._hold(talk, situation)
        except RolloutError as failure:
            failure.usage = talk.usage + failure.usage if isinstance(failure.usage, Usage) else talk.usage
            raise
        opened = skill is not None and not skill.empty
        return Outcome(
            answer=talk.answer,
            usage=talk.usage,
            transcript=transcript(talk.messages),
            opened=opened,
            ending=talk.ending,
        )

    async def _hold(self, talk: _Talk, situation: Situation) -> None:
        """Speak in turns until a workbook is saved."""
        for _ in range(self._turns):
            reply = await self._speaker.reply(talk.messages, situation)
            talk.usage += reply.usage
            talk.messages.append(reply.message)
            code = code_in(reply.text)
            talk.answer = reply.text if code is None else code
            error = await self._trouble(code, situation.task, situation.workspace)
            if error is None:
                talk.ending = Ending.ANSWERED
                return
            talk.ending = Ending.CUT if reply.cut else Ending.TURN_LIMIT
            talk.messages.append(Message(role="user", text=error))

    async def _trouble(self, code: str | None, task: Task, workspace: Path) -> str | None:
        """What the speaker has to be told; None where the workbook is saved, by its program or by itself."""
        if code is None:
            return None if is_file(workspace / OUTPUT) else NO_CODE
        said = await self._runner.run(code, task, workspace)
        return None if said is None else failure_message(said)


def around(spec: str, options: AgentOptions) -> Agent:
    """The agent that the user names, asked by this protocol."""
    return Programmer(make_chat_client(spec, options), Runner.of(options), options.chat.turns)


# Agents that need no model: the gold workbook put into place, and the workbook left as it is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Copier:
    """Hands in a workbook that is there already."""

    fingerprint: str
    origin: Callable[[Task], Path]

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""
        del skill, replicate
        with disk_trouble(workspace):
            await anyio.to_thread.run_sync(shutil.copyfile, self.origin(task), workspace / OUTPUT)
        return Outcome(answer="", usage=Usage(input_tokens=0, output_tokens=0, usd=0.0), opened=False)


def reference() -> Copier:
    """Hands in the gold workbook."""
    return Copier(fingerprint="spreadsheetbench-reference/1", origin=lambda task: Path(task.target))


def noop() -> Copier:
    """Hands in the workbook as it got it."""
    return Copier(fingerprint="spreadsheetbench-noop/1", origin=lambda task: task.files[INPUT])
