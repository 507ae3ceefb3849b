"""The agents of SpreadsheetBench: the protocol in which a client writes programs, and agents that need no model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from skillsv.errors import RolloutError
from skillsv.extend.sandbox import convert_disk_errors
from skillsv.extend.task_sources import AgentOptions
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv.model.task import Task
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, RolloutContext, transcript
from skillsv_bench.spreadsheetbench.programs import Runner, is_file
from skillsv_bench.spreadsheetbench.prompt import INPUT, NO_CODE, extract_code, failure_message, system_message
from skillsv_bench.spreadsheetbench.verify import OUTPUT


@dataclass(slots=True, kw_only=True)
class _ConversationState:
    """The messages, usage and last program of a conversation so far."""

    messages: list[Message]
    usage: Usage = field(default_factory=Usage)
    answer: str = ""
    ending: Ending = Ending.ANSWERED


class ProgramWritingAgent:
    """Asks a client for a program, runs it, and reports its failure to the client, up to `turns` times."""

    def __init__(self, client: ChatClient, runner: Runner, turns: int) -> None:
        self._client = client
        self._runner = runner
        self._turns = turns

    @property
    def fingerprint(self) -> str:
        """The protocol's version, what programs may use, and the client's own."""
        runner = self._runner
        how = f"turns={self._turns},seconds={runner.limits.seconds:g},sandbox={runner.sandbox}"
        return f"spreadsheetbench/1({how},{runner.libraries.versions}):{self._client.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Work on one task. The answer is the last program; the verifier looks at the workbook it saved."""
        system = system_message(skill, self._runner.libraries.names)
        state = _ConversationState(
            messages=[Message(role="system", text=system), Message(role="user", text=task.input)]
        )
        context = RolloutContext(skill=skill, task=task, replicate=replicate, workspace=workspace)
        try:
            await self._converse(state, context)
        except RolloutError as failure:
            failure.usage = state.usage + failure.usage if isinstance(failure.usage, Usage) else state.usage
            raise
        opened = skill is not None and not skill.empty
        return Outcome(
            answer=state.answer,
            usage=state.usage,
            transcript=transcript(state.messages),
            opened=opened,
            ending=state.ending,
        )

    async def _converse(self, state: _ConversationState, context: RolloutContext) -> None:
        """Ask for programs until one saves a workbook."""
        for _ in range(self._turns):
            reply = await self._client.reply(state.messages, context)
            state.usage += reply.usage
            state.messages.append(reply.message)
            code = extract_code(reply.text)
            state.answer = reply.text if code is None else code
            error = await self._find_problem(code, context.task, context.workspace)
            if error is None:
                state.ending = Ending.ANSWERED
                return
            state.ending = Ending.CUT if reply.cut else Ending.TURN_LIMIT
            state.messages.append(Message(role="user", text=error))

    async def _find_problem(self, code: str | None, task: Task, workspace: Path) -> str | None:
        """Return the message about a problem; None if the client or its program saved the workbook."""
        if code is None:
            return None if is_file(workspace / OUTPUT) else NO_CODE
        failure = await self._runner.run(code, task, workspace)
        return None if failure is None else failure_message(failure)


def wrap_agent(spec: str, options: AgentOptions) -> Agent:
    """Make the agent that the user names, inside this protocol."""
    return ProgramWritingAgent(make_chat_client(spec, options), Runner.of(options), options.chat.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAgent:
    """Answers with a copy of an existing workbook."""

    fingerprint: str
    origin: Callable[[Task], Path]

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""
        del skill, replicate
        with convert_disk_errors(workspace):
            await anyio.to_thread.run_sync(shutil.copyfile, self.origin(task), workspace / OUTPUT)
        return Outcome(answer="", usage=Usage(input_tokens=0, output_tokens=0, usd=0.0), opened=False)


def reference() -> CopyAgent:
    """Make the agent that copies the gold workbook."""
    return CopyAgent(fingerprint="spreadsheetbench-reference/1", origin=lambda task: Path(str(task.target)))


def noop() -> CopyAgent:
    """Make the agent that copies the input workbook unchanged."""
    return CopyAgent(fingerprint="spreadsheetbench-noop/1", origin=lambda task: task.files[INPUT])
