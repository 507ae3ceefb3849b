"""A toy game behind the real pool of processes, and the folder of shared data."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillsv_bench.alfworld.games import Games

TOY = Path(__file__).with_name("toy_worker.py")
SHARED = Path(__file__).resolve().parents[3] / "../shared"


@pytest.fixture
def toy_games():
    """Makes pools of toy processes, and ends them."""
    made = []

    def make(**settings) -> Games:
        made.append(Games(program=(sys.executable, str(TOY)), **settings))
        return made[-1]

    yield make
    for games in made:
        games.close()


@pytest.fixture
def shared():
    if not (SHARED / "benchmarks" / "alfworld").is_dir():
        pytest.skip("the shared data are not beside this repository")
    return SHARED
