"""The protocol of one episode: a speaker is asked for an action, turn by turn, until the game is won or 50 are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillsv.agents import AgentOptions
from skillsv.benchmarks.alfworld.games import Episode, Games, open_games
from skillsv.benchmarks.alfworld.prompt import Past, read_action, user_message
from skillsv.benchmarks.speakers import Message, Situation, Speaker, make_speaker, transcript
from skillsv.errors import RolloutError
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv.model.task import Task


class EpisodeAgent:
    """Plays a game with a speaker's words. Every turn is one message of its own: a speaker remembers nothing.

    The speaker never learns where the game file lies, since that holds the walkthrough. What it says of the game's end
    counts for nothing: the answer is the environment's.
    """

    def __init__(self, speaker: Speaker, games: Games | None = None) -> None:
        self._speaker = speaker
        self._games = games or open_games()

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the speaker's own."""
        return f"alfworld/1:{self._speaker.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Play one episode."""
        situation = Situation(skill=skill, task=replace(task, target=None), replicate=replicate, workspace=workspace)
        talk = _Talk()
        try:
            async with self._games.episode(Path(task.target)) as episode:
                while not episode.over:
                    await episode.act(await self._asked(situation, episode, talk))
        except RolloutError as error:
            paid = error.usage if isinstance(error.usage, Usage) else Usage()
            error.usage = talk.usage + paid
            raise
        said = [*talk.said, Message(role="user", text=episode.scene.observation.strip())]
        return Outcome(
            answer=episode.result.as_answer(),
            usage=talk.usage,
            transcript=transcript(said),
            opened=skill is not None and not skill.empty,
            ending=talk.ending,
        )

    async def _asked(self, situation: Situation, episode: Episode, talk: _Talk) -> str:
        """The action of this turn."""
        scene = episode.scene
        question = user_message(situation.skill, situation.task.input, talk.past, scene)
        now = replace(situation, more=_more(episode, talk.past))
        reply = await self._speaker.reply([Message(role="user", text=question)], now)
        action = read_action(reply.text)
        talk.usage += reply.usage
        if reply.cut:
            talk.ending = Ending.CUT  # every turn is a question of its own, and one of its answers is not whole
        talk.said += [Message(role="user", text=scene.observation.strip()), reply.message]
        talk.past.append((scene.observation, action))
        return action


@dataclass(slots=True)
class _Talk:
    """What was said in an episode so far, and what it cost. The transcript leaves out what every message repeats."""

    past: list[tuple[str, str]] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    ending: Ending = Ending.ANSWERED


def _more(episode: Episode, past: Past) -> Mapping[str, Any]:
    """What a program may want beside the message, so that it need not read it apart."""
    return {
        "step": len(episode.actions),
        "observation": episode.scene.observation,
        "actions": list(episode.scene.actions),
        "past": [list(pair) for pair in past],
    }


def around(spec: str, options: AgentOptions) -> Agent:
    """The agent that the user names, inside this protocol."""
    return EpisodeAgent(make_speaker(spec, options))
