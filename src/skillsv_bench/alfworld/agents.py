"""The agents of ALFWorld: the protocol that asks a client for one action a turn, and scripted players."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from skillsv.errors import RolloutError
from skillsv.extend.task_sources import AgentOptions
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv.model.task import Task
from skillsv_bench.alfworld.games import Episode, Games, open_games, scripted_games
from skillsv_bench.alfworld.process import NO_EFFECT, Scene
from skillsv_bench.alfworld.tasks import Result, read_game
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, RolloutContext, transcript

Choose = Callable[[Scene], str]
"""Chooses the action of a scripted player in a scene."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedPlayer:
    """Plays real games by a rule: `player(text of the skill, task, replicate)` makes the chooser of one episode.

    `fingerprint` is its name and version: raise the version when the rule changes. `reads` says whether it looks at
    the skill.
    """

    fingerprint: str
    player: Callable[[str, Task, int], Choose]
    reads: bool = False
    games: Games = field(default_factory=scripted_games)

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Play one episode."""
        del workspace
        text = skill.text if skill is not None else ""
        result = await play(self.games, Path(str(task.target)), self.player(text, task, replicate))
        usage = Usage(input_tokens=0, output_tokens=0, usd=0.0)
        return Outcome(answer=result.as_answer(), usage=usage, opened=self.reads and bool(text))


async def play(games: Games, file: Path, choose: Choose) -> Result:
    """Play one episode to its end."""
    async with games.episode(file) as episode:
        while not episode.over:
            await episode.act(choose(episode.scene))
        return episode.result


def reference() -> ScriptedPlayer:
    """Make the player that follows the walkthrough in the game file."""
    return ScriptedPlayer(fingerprint="alfworld-reference/1", player=_walkthrough)


def noop() -> ScriptedPlayer:
    """Make the player that only looks."""
    return ScriptedPlayer(fingerprint="alfworld-noop/1", player=lambda *_: lambda _: NO_EFFECT)


def random_agent() -> ScriptedPlayer:
    """Make the player that takes random admissible actions, the same for the same task and replicate."""
    return ScriptedPlayer(fingerprint="alfworld-random/1", player=_choose_randomly)


def _walkthrough(text: str, task: Task, replicate: int) -> Choose:
    del text, replicate
    steps = iter(read_game(Path(str(task.target))).walkthrough)
    return lambda _: next(steps, NO_EFFECT)


def _choose_randomly(text: str, task: Task, replicate: int) -> Choose:
    del text
    chance = Random(int(sha256(f"{task.id}:{replicate}".encode()).hexdigest()[:16], 16))
    return lambda scene: chance.choice(scene.actions or (NO_EFFECT,))


HISTORY_PAIRS = 2
"""The number of past (observation, action) pairs that a message shows."""

_ROLE = "You act in a household that is described in words. Each turn you choose one action."

_FORMAT = """\
Think about the next step between <think> and </think>. Then give exactly one of the admissible actions, word for word,
between <action> and </action>."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.IGNORECASE | re.DOTALL)
_ACTION = re.compile(r"<action>(.*?)</action>", re.IGNORECASE | re.DOTALL)

Past = Sequence[tuple[str, str]]
"""Pairs of an observation and the action taken then, oldest first."""


def user_message(skill: Rendering | None, goal: str, past: Past, scene: Scene) -> str:
    """Write the message of one turn; without a skill it has no section for one."""
    text = skill.text.strip() if skill is not None else ""
    parts = [
        *([f"## Skill\n{text}"] if text else []),
        f"{_ROLE}\n\n## Task\n{goal}",
        *_format_history(past[-HISTORY_PAIRS:]),
        f"## Observation\n{scene.observation.strip()}",
        "## Admissible actions\n" + "\n".join(f"- {action}" for action in scene.actions),
        _FORMAT,
    ]
    return "\n\n".join(parts)


def _format_history(past: Past) -> list[str]:
    if not past:
        return []
    pairs = [f"Observation: {observation.strip()}\nAction: {action}" for observation, action in past]
    return ["\n\n".join(["## Before this", *pairs])]


def read_action(reply: str) -> str:
    """The action that a reply gives, the first one after its thoughts; `look` where it gives none."""
    found = _ACTION.search(_THOUGHT.sub("", reply)) or _ACTION.search(reply)
    action = " ".join(found[1].split()).lower() if found else ""
    return action or NO_EFFECT


class EpisodeAgent:
    """Plays a game with the actions that a client chooses. Every turn is a new message: a client has no memory.

    The client never gets the path of the game file, which contains the walkthrough. The answer is the result
    of the environment, whatever the client says about the end of the game.
    """

    def __init__(self, client: ChatClient, games: Games | None = None) -> None:
        self._client = client
        self._games = games or open_games()

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the client's own."""
        return f"alfworld/1:{self._client.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Play one episode."""
        context = RolloutContext(skill=skill, task=replace(task, target=None), replicate=replicate, workspace=workspace)
        log = _EpisodeLog()
        try:
            async with self._games.episode(Path(str(task.target))) as episode:
                while not episode.over:
                    await episode.act(await self._choose_action(context, episode, log))
        except RolloutError as error:
            paid = error.usage if isinstance(error.usage, Usage) else Usage()
            error.usage = log.usage + paid
            raise
        messages = [*log.messages, Message(role="user", text=episode.scene.observation.strip())]
        return Outcome(
            answer=episode.result.as_answer(),
            usage=log.usage,
            transcript=transcript(messages),
            opened=skill is not None and not skill.empty,
            ending=log.ending,
        )

    async def _choose_action(self, context: RolloutContext, episode: Episode, log: _EpisodeLog) -> str:
        """The action of this turn."""
        scene = episode.scene
        question = user_message(context.skill, context.task.input, log.past, scene)
        now = replace(context, extra=_extra(episode, log.past))
        reply = await self._client.reply([Message(role="user", text=question)], now)
        action = read_action(reply.text)
        log.usage += reply.usage
        if reply.cut:
            log.ending = Ending.CUT  # one incomplete reply is enough
        log.messages += [Message(role="user", text=scene.observation.strip()), reply.message]
        log.past.append((scene.observation, action))
        return action


@dataclass(slots=True)
class _EpisodeLog:
    """The messages and usage of an episode so far. The messages leave out what every turn repeats."""

    past: list[tuple[str, str]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    ending: Ending = Ending.ANSWERED


def _extra(episode: Episode, past: Past) -> Mapping[str, Any]:
    """Return the facts of a turn for programs, so that they need not parse the message."""
    return {
        "step": len(episode.actions),
        "observation": episode.scene.observation,
        "actions": list(episode.scene.actions),
        "past": [list(pair) for pair in past],
    }


def wrap_agent(spec: str, options: AgentOptions) -> Agent:
    """Make the agent that the user names, inside this protocol."""
    return EpisodeAgent(make_chat_client(spec, options))
