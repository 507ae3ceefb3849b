"""An agent that has the competences that the skill teaches, and plays the real games with them.

The competences that a task needs are found by playing it with one competence left out.
"""

from __future__ import annotations

from pathlib import Path

from skillsv.model.task import Task
from skillsv_bench.alfworld.agents import Choose, ScriptedPlayer, play, read_action
from skillsv_bench.alfworld.games import Games
from skillsv_bench.alfworld.policy import COMPETENCES, RuleBasedPlayer, read_goal
from skillsv_bench.benchmark import compile_patterns, find_competences

COMPETENCE_PATTERNS = compile_patterns(
    {
        "format": r"<action>",
        "search": r"\bsearch (each|every)\b",
        "open": r"\bopen closed\b",
        "likely": r"\blikely locations first\b",
        "ledger": r"\bpersistent\W+searched set\b",
        "exact": r"\bonly the exact\b",
        "appliances": r"\bgo to (the )?(sink|microwave|fridge)",
        "transform": r"\bstate change at the\b",
        "lamp": r"\bfind (the )?desklamp\b",
        "count": r"\bcount of how many objects\b",
        "admissible": r"\bdo not invent actions\b",
    }
)
"""The competences that the agent can have, and the words in a skill that teach each."""


def read_competences(text: str) -> frozenset[str]:
    """Find the competences that a rendered skill teaches."""
    return find_competences(COMPETENCE_PATTERNS, text)


async def find_needed_competences(task: Task, games: Games) -> frozenset[str]:
    """The competences without any one of which this game is lost. Empty for a game that is lost even with all."""
    everything = frozenset(COMPETENCES)
    if not await wins(task, games, everything):
        return frozenset()
    return frozenset([name for name in COMPETENCES if not await wins(task, games, everything - {name})])


async def wins(task: Task, games: Games, can: frozenset[str]) -> bool:
    """Say whether the player wins this game with these competences."""
    return (await play(games, Path(str(task.target)), _chooser(task, can))).won


def _chooser(task: Task, can: frozenset[str]) -> Choose:
    player = RuleBasedPlayer(goal=read_goal(task.input), can=can)
    return lambda scene: read_action(player.reply(scene))


def _follows_rules(text: str, task: Task, replicate: int) -> Choose:
    del replicate
    return _chooser(task, read_competences(text))


def rules() -> ScriptedPlayer:
    """The agent that follows the rules it finds."""
    return ScriptedPlayer(fingerprint="alfworld-rules/1", player=_follows_rules, reads=True)
