import sys
from pathlib import Path

import pytest

from skillsv.rollout import ledger_file

# With importlib mode test folders are no packages: the toy world lies beside the tests that share it.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch):
    """Waiting for the disk at every commit would make up most of the time of these tests."""
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")
