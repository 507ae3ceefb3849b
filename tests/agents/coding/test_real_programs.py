"""Real coding agents, installed by `make coding-agents`, against a scripted model on 127.0.0.1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from skillsv.agents.coding import PROGRAMS
from skillsv.sandbox.bubblewrap import find_sandbox_problem

pytestmark = pytest.mark.heavy

INSTALLED = Path(os.environ.get("SKILLSV_CODING_AGENTS", Path(sys.prefix) / "coding-agents"))
"""The folder in which the programs are installed."""

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")


def namespace() -> list[str]:
    """The beginning of a command that runs without a network; empty where that is impossible."""
    if not (shutil.which("unshare") and shutil.which("ip")):
        return []
    words = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []


def is_public(path: Path) -> bool:
    """Whether every user may read this folder: as root, the sandbox runs as `nobody`."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.resolve().parents))


def run_isolated(name: str, place: Path) -> dict:
    binaries = INSTALLED / "node_modules" / ".bin"
    program = binaries / PROGRAMS[name].executable
    if not program.exists():
        pytest.skip(f"{program.name} is not in {INSTALLED}: run `make coding-agents`")
    missing = [other for other, _ in PROGRAMS[name].uses if shutil.which(other) is None]
    if missing:
        pytest.skip(f"{name} needs {missing[0]}, which is not installed")
    words = namespace()
    if not words:
        pytest.skip("network namespaces (unshare, ip) cannot be made here")
    sandboxed = os.geteuid() == 0 and find_sandbox_problem() is None and is_public(INSTALLED) and is_public(place)
    env = {"PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(place), "LANG": "C.UTF-8"}
    env |= {"SKILLSV_TEST_SANDBOX": str(int(sandboxed)), **dict.fromkeys(KEYS, "no-real-key")}
    script = Path(__file__).with_name("isolated_run.py")
    done = subprocess.run(
        [*words, sys.executable, str(script), name, str(place)], env=env, capture_output=True, text=True, cwd=place
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture
def place():
    """A folder that every user may enter; those of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="coding-agents-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "opencode", "pi"])
def test_values_errors_isolation_and_network_of_a_real_program(name, place):
    found = run_isolated(name, place)
    assert found["values"] == [0.5, 0.0, 0.5]
    assert (found["failed"], found["without_usage"]) == (0, 0)
    assert found["opened"] == ["1", "None"]  # opened with the skill, unknown for the bare agent
    assert found["refused"].startswith(f"Unavailable: {name} will not serve any rollout: ")
    assert found["leak"] is False
    assert found["contacted"] == []
