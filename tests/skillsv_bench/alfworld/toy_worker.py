"""A game of a few words in the place of TextWorld: it tells its process, its steps, and fails on demand."""

import os
import sys
import threading
from pathlib import Path

from skillsv_bench.alfworld.process import Scene
from skillsv_bench.alfworld.worker import serve


class Toy:
    def start(self, game: str) -> Scene:
        Path(game).read_bytes()
        self.done: list[str] = []
        return self._scene()

    def act(self, action: str) -> Scene:
        sys.stdout.write("libraries print what they like\n")
        if action == "die":
            os._exit(3)
        if action == "raise":
            raise ValueError("toy error")
        if action == "hang":
            threading.Event().wait()
        self.done.append(action)
        return self._scene()

    def _scene(self) -> Scene:
        return Scene(
            observation=f"{os.getpid()} {' '.join(self.done)}", actions=("look", "win"), won="win" in self.done
        )


if __name__ == "__main__":
    serve(Toy())
