"""Who answers in a benchmark's conversation: a model, or any agent of the user's that is run once a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillsv.agents import AgentOptions, make_agent
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending
from skillsv_bench.conversation import ChatClient, Message, Reply, Situation, Tool


def make_chat_client(spec: str, options: AgentOptions) -> ChatClient:
    """The speaker that an agent's specification names: a model as such, any other agent as a program."""
    scheme, _, rest = spec.partition(":")
    if scheme == "model":
        make_agent(spec, replace(options, chat=replace(options.chat, tools="none")))  # says what is missing, and how
        from skillsv_bench.model_client import ModelChatClient

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
