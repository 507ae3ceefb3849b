import sys
from pathlib import Path

import pytest

from skillsv.rollout import ledger_file

# With importlib mode test folders are not packages: the shared module `worlds` is found by its path.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_disk_sync(monkeypatch):
    """Do not wait for the disk at every commit: that would take most of the time of these tests."""
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")
