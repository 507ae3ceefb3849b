"""The process that plays games, one after another: `python -m skillsv_bench.alfworld.worker`.

Orders come on its standard input, scenes go to its standard output; everything that libraries print goes nowhere.
"""

from __future__ import annotations

import os
import queue
import sys
import threading

import msgspec

from skillsv_bench.alfworld.process import PlayCommand, Player, Scene


def serve(player: Player) -> None:
    """Answer orders until there will be no more, because whoever gave them closed the pipe, or died."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_commands, args=(orders,), daemon=True).start()
    while True:
        scene = _execute(player, msgspec.json.decode(orders.get(), type=PlayCommand))
        output.write(msgspec.json.encode(scene) + b"\n")


def _execute(player: Player, order: PlayCommand) -> Scene:
    """The scene after the last of what was ordered."""
    scenes = [] if order.game is None else [player.start(order.game)]
    scenes += [player.act(action) for action in order.actions]
    return scenes[-1]


def _read_commands(orders: queue.SimpleQueue[bytes]) -> None:
    """Listen beside the game, so that a game that hangs ends too when nobody is left to wait for it."""
    for line in sys.stdin.buffer:
        orders.put(line)
    os._exit(0)


if __name__ == "__main__":
    from skillsv_bench.alfworld.player import TextWorldPlayer

    serve(TextWorldPlayer())
