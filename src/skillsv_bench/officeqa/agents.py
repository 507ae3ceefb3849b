"""The agents of OfficeQA: the protocol with three tools and 24 turns, and agents that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from skillsv.errors import AgentFailure
from skillsv.extend.task_sources import AgentOptions
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.model.task import Task
from skillsv_bench.benchmark import ScriptedAgent
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, Reply, RolloutContext, ToolCall, transcript
from skillsv_bench.officeqa.prompt import system_message
from skillsv_bench.officeqa.tasks import PAPER
from skillsv_bench.officeqa.tools import TOOLS, DocumentStore


class ToolUsingAgent:
    """Lets a client use the tools until it answers. A reply with neither, or no answer within the turns, is wrong.

    `timeout` is the time for all turns together, in seconds: a rollout that exceeds it is an infrastructure failure.
    """

    def __init__(self, client: ChatClient, timeout: float | None = None) -> None:
        self._client = client
        self._timeout = timeout

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the client's fingerprint."""
        return f"officeqa/1:{self._client.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one question."""
        context = RolloutContext(skill=skill, task=task, replicate=replicate, workspace=workspace)
        with anyio.move_on_after(self._timeout):
            return await self._converse(context)
        raise AgentFailure(f"no answer within {self._timeout:g} s.", kind=FailureKind.TIMEOUT)

    async def _converse(self, context: RolloutContext) -> Outcome:
        messages = [
            Message(role="system", text=system_message(context.skill)),
            Message(role="user", text=context.task.input),
        ]
        documents = DocumentStore({name: context.workspace / name for name in context.task.files})
        usage = Usage()
        reply = Reply(text="")
        for _ in range(PAPER.turns):
            reply = await self._client.reply(messages, context, TOOLS)
            usage += reply.usage
            messages.append(reply.message)
            if not reply.calls:
                break
            messages += await anyio.to_thread.run_sync(_answers, documents, reply.calls)
        skill = context.skill
        return Outcome(
            answer="" if reply.calls else reply.text,  # text beside a tool call is not an answer
            usage=usage,
            transcript=transcript(messages),
            opened=skill is not None and not skill.empty,
            ending=Ending.TURN_LIMIT if reply.calls else reply.ending,
        )


def _answers(documents: DocumentStore, calls: Sequence[ToolCall]) -> list[Message]:
    return [Message(role="tool", text=documents.call(call), call=call) for call in calls]


def wrap_agent(spec: str, options: AgentOptions) -> Agent:
    """Make the agent that the user names, inside this protocol."""
    return ToolUsingAgent(make_chat_client(spec, options), options.timeout)


def reference() -> ScriptedAgent:
    """Make the agent that gives the right answer."""
    return ScriptedAgent(fingerprint="officeqa-reference/1", answer=lambda _, task: f"<answer>{task.target}</answer>")


def noop() -> ScriptedAgent:
    """Make the agent that gives an empty answer."""
    return ScriptedAgent(fingerprint="officeqa-noop/1", answer=lambda _, __: "<answer></answer>")
