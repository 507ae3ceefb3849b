"""The bulletins of an invented harbour office, in upstream's layout: `corpus/` beside this file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from skillsv_bench.benchmark import Source
from skillsv_bench.officeqa.tasks import load

CORPUS = Path(__file__).parent / "corpus"


@pytest.fixture
def data(tmp_path) -> Path:
    """A copy of the corpus that a test may damage."""
    return Path(shutil.copytree(CORPUS, tmp_path / "office"))


@pytest.fixture(scope="session")
def tasks():
    return {task.id: task for task in load(Source(data=CORPUS)).tasks}
