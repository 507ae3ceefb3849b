"""What is said between an episode and the process that plays it: orders there, scenes back, one line of JSON each."""

from __future__ import annotations

from typing import Protocol

import msgspec

NOTHING = "look"
"""The action that changes nothing."""


class Scene(msgspec.Struct, frozen=True):
    """What a player sees: the environment's words, the actions it admits now, whether the game is won."""

    observation: str
    actions: tuple[str, ...] = ()
    won: bool = False


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """Start this game from its beginning (None: go on with the one in play), and take these actions."""

    game: str | None = None
    actions: tuple[str, ...] = ()


class Player(Protocol):
    """Plays one game at a time. Whatever it raises ends its process."""

    def start(self, game: str) -> Scene:
        """The first scene of the game in this file."""

    def act(self, action: str) -> Scene:
        """The scene after this action."""
