"""The published environment as it is, in a process of its own: nothing remembered, nothing replaced."""

from skillsv_bench.alfworld.player import TextWorldPlayer
from skillsv_bench.alfworld.worker import serve

if __name__ == "__main__":
    serve(TextWorldPlayer(quick=False))
