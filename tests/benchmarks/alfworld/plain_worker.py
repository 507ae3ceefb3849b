"""The published environment as it is, in a process of its own: nothing remembered, nothing replaced."""

from skillsv.benchmarks.alfworld.player import TextWorldPlayer
from skillsv.benchmarks.alfworld.worker import serve

if __name__ == "__main__":
    serve(TextWorldPlayer(quick=False))
