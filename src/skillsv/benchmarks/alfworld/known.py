"""Agents that need no model: the walkthrough, one who only looks, one who does anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

from skillsv.benchmarks.alfworld.games import Games, scripted_games
from skillsv.benchmarks.alfworld.load import read_game
from skillsv.benchmarks.alfworld.scene import NOTHING, Scene
from skillsv.benchmarks.alfworld.verify import Result
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task

Choose = Callable[[Scene], str]
"""What a scripted player does in a scene."""


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
        result = await play(self.games, Path(task.target), self.player(text, task, replicate))
        usage = Usage(input_tokens=0, output_tokens=0, usd=0.0)
        return Outcome(answer=result.as_answer(), usage=usage, opened=self.reads and bool(text))


async def play(games: Games, file: Path, choose: Choose) -> Result:
    """One episode to its end."""
    async with games.episode(file) as episode:
        while not episode.over:
            await episode.act(choose(episode.scene))
        return episode.result


def reference() -> ScriptedPlayer:
    """Follows the walkthrough that stands in the game file."""
    return ScriptedPlayer(fingerprint="alfworld-reference/1", player=_walkthrough)


def noop() -> ScriptedPlayer:
    """Only looks."""
    return ScriptedPlayer(fingerprint="alfworld-noop/1", player=lambda *_: lambda _: NOTHING)


def at_random() -> ScriptedPlayer:
    """Does anything that is admissible; the same for the same task and replicate."""
    return ScriptedPlayer(fingerprint="alfworld-random/1", player=_anything)


def _walkthrough(text: str, task: Task, replicate: int) -> Choose:
    del text, replicate
    steps = iter(read_game(Path(task.target)).walkthrough)
    return lambda _: next(steps, NOTHING)


def _anything(text: str, task: Task, replicate: int) -> Choose:
    del text
    chance = Random(int(sha256(f"{task.id}:{replicate}".encode()).hexdigest()[:16], 16))
    return lambda scene: chance.choice(scene.actions or (NOTHING,))
