"""The process that plays games, one after another: `python -m skillsv_bench.alfworld.worker`.

It reads commands from its standard input and writes scenes to its standard output; output of libraries is discarded.
"""

from __future__ import annotations

import os
import queue
import sys
import threading

import msgspec

from skillsv_bench.alfworld.process import PlayCommand, Player, Scene


def serve(player: Player) -> None:
    """Answer commands until the parent closes the pipe or ends."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    commands: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_commands, args=(commands,), daemon=True).start()
    while True:
        scene = _execute(player, msgspec.json.decode(commands.get(), type=PlayCommand))
        output.write(msgspec.json.encode(scene) + b"\n")


def _execute(player: Player, command: PlayCommand) -> Scene:
    """Execute a command and return the last scene."""
    scenes = [] if command.game is None else [player.start(command.game)]
    scenes += [player.act(action) for action in command.actions]
    return scenes[-1]


def _read_commands(commands: queue.SimpleQueue[bytes]) -> None:
    """Read commands in a thread, so that a process whose game hangs ends too when its parent does."""
    for line in sys.stdin.buffer:
        commands.put(line)
    os._exit(0)


if __name__ == "__main__":
    from skillsv_bench.alfworld.player import TextWorldPlayer

    serve(TextWorldPlayer())
