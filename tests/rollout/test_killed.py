"""A run killed by SIGKILL at random moments resumes, ends with the same records and pays for nothing twice."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from skillsv.rollout.ledger import Ledger
from skillsv.rollout.run_folder import RunFolder

PROGRAM = Path(__file__).with_name("killed_run.py")
JOBS = 4


def run(folder: Path, kills: int, seed: int) -> dict:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), str(kills), str(seed)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(tmp_path: Path, kills: int, seed: int) -> None:
    calm, killed = run(tmp_path / "calm", 0, 0), run(tmp_path / "killed", kills, seed)
    assert killed["kills"] == kills
    assert killed["paid_twice"] == [], "a rollout in the ledger never runs again"
    assert max(killed["wasted"]) <= JOBS, "a kill costs at most the pending rollouts"
    assert killed["invocations"] == calm["invocations"] + sum(killed["wasted"])
    calm_folder, killed_folder = RunFolder(tmp_path / "calm"), RunFolder(tmp_path / "killed")
    assert killed_folder.chains() == calm_folder.chains()
    assert len(calm_folder.chains()) == 8
    lines = killed_folder.records.read_bytes().splitlines()
    assert sorted(lines) == sorted(calm_folder.records.read_bytes().splitlines())
    with Ledger.open(calm_folder.ledger) as one, Ledger.open(killed_folder.ledger) as other:
        assert one.summary().scored == other.summary().scored == calm["invocations"]


@pytest.mark.heavy
def test_killed_twelve_times(tmp_path):
    check(tmp_path, kills=12, seed=20260)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_fifty_times(tmp_path, seed):
    check(tmp_path, kills=50, seed=seed)
