"""The clients that answer in a benchmark's conversation: a model, or any agent, which is run once a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillsv.extend.task_sources import AgentOptions, make_agent
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending
from skillsv_bench.conversation import ChatClient, Message, Reply, RolloutContext, Tool


def make_chat_client(spec: str, options: AgentOptions) -> ChatClient:
    """Make the client that an agent's specification names: a model client, or a program client for any other agent."""
    scheme, _, rest = spec.partition(":")
    if scheme == "model":
        # Making the ordinary agent first checks the specification and raises the ordinary error messages.
        make_agent(spec, replace(options, chat=replace(options.chat, tools="none")))
        from skillsv_bench.model_client import ModelChatClient

        return ModelChatClient(rest, options)
    return ProgramClient(make_agent(spec, options))


class ProgramClient:
    """An ordinary agent that is run once a turn.

    The input of its task is the last user message; `metadata` holds the turn's number, all messages, and what the
    protocol adds. Tools of the protocol are not offered: a program has the task's files in its working folder.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def fingerprint(self) -> str:
        """The program's own fingerprint."""
        return self._agent.fingerprint

    async def reply(self, messages: Sequence[Message], context: RolloutContext, tools: Sequence[Tool] = ()) -> Reply:
        """Run the program once."""
        del tools
        user_texts = [message.text for message in messages if message.role == "user"]
        turn = sum(message.role == "assistant" for message in messages)
        history = [{"role": message.role, "text": message.text} for message in messages]
        metadata = {**context.task.metadata, **context.extra, "turn": turn, "messages": history}
        task = replace(context.task, input=user_texts[-1] if user_texts else context.task.input, metadata=metadata)
        outcome = await self._agent.run(context.skill, task, context.replicate, context.workspace)
        return Reply(text=outcome.answer, usage=outcome.usage, cut=outcome.ending is Ending.CUT)
