"""The protocol of one question: asked once, answered once."""

from __future__ import annotations

from pathlib import Path

from skillsv.agents import AgentOptions
from skillsv.benchmarks.livemath.prompt import system_message
from skillsv.benchmarks.speakers import Message, Situation, Speaker, make_speaker, transcript
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task


class OneTurn:
    """Asks a speaker the question, with the skill in the system prompt."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the speaker's own."""
        return f"livemath/1:{self._speaker.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one question."""
        messages = [Message(role="system", text=system_message(skill)), Message(role="user", text=task.input)]
        situation = Situation(skill=skill, task=task, replicate=replicate, workspace=workspace)
        reply = await self._speaker.reply(messages, situation)
        return Outcome(
            answer=reply.text,
            usage=reply.usage,
            transcript=transcript([*messages, reply.message]),
            opened=skill is not None and not skill.empty,
            ending=reply.ending,
        )


def around(spec: str, options: AgentOptions) -> Agent:
    """The agent that the user names, asked by this protocol."""
    return OneTurn(make_speaker(spec, options))
