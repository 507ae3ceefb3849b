"""The real environment: ALFWorld's games in TextWorld, with ALFWorld's own names of things and 50 steps an episode."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from skillsv_bench.alfworld.process import Scene
from skillsv_bench.alfworld.quick import install_caches
from skillsv_bench.alfworld.tasks import STEPS


class TextWorldPlayer:
    """One environment that loads game after game, as TextWorld's gym interface makes it. `quick` False: as published.

    ALFWorld's own class for this looks for files of the whole data set; its two wrappers are all that changes a game:
    they give things their numbered names, without shuffling, and remember the file.
    """

    def __init__(self, *, quick: bool = True) -> None:
        textworld = import_module("textworld")
        upstream = import_module("alfworld.agents.environment.alfred_tw_env")
        gym = import_module("textworld.gym.envs.textworld_batch")
        if quick:
            install_caches()
        infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
        wrappers = [upstream.AlfredDemangler(shuffle=False), upstream.AlfredInfos]
        self._environment: Any = gym._make_env(infos, STEPS, wrappers)  # noqa: SLF001 - what a registered game gets

    def start(self, game: str) -> Scene:
        """The first scene of the game in this file."""
        self._environment.load(game)
        return _scene(*self._environment.reset())

    def act(self, action: str) -> Scene:
        """The scene after this action."""
        observation, _, _, infos = self._environment.step(action)
        return _scene(observation, infos)


def _scene(observation: str, infos: dict[str, Any]) -> Scene:
    return Scene(observation=observation, actions=tuple(infos["admissible_commands"]), won=bool(infos["won"]))
