"""A small valued skill for the commands that come after `value`. Its agent answers with the words that the skill names."""

import json
import shutil
from types import SimpleNamespace

import pytest

from skillsv.cli import run

SKILL = """\
---
name: tiny
description: Words to say.
---

# Words

- Say `alpha` whenever anybody asks for the first of the words.
- Say `beta` whenever anybody asks for the second of the words.
- Once more: say `beta` whenever anybody asks for the second of the words.
- Speak of `gamma` to nobody, and write of it to nobody either.
- Mumble while you are at it.
"""

AGENT = """\
import re
from pathlib import Path

LOG = Path(__file__).with_name("log.txt")

def answer(skill, task, replicate):
    with LOG.open("a") as log:
        log.write(f"{task.id}\\n")
    if skill is None:
        return ""
    words = " ".join(re.findall(r"[Ss]ay `(\\w+)`", skill.text))
    return "mumble" if "Mumble" in skill.text and task.metadata.get("shy") else words
"""


def value_tiny(place, *flags, tasks=48):
    """Write the skill, its tasks and its agent into `place`, and value it in `place/run`."""
    skill = place / "tiny"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    (place / "agent.py").write_text(AGENT)
    lines = [
        {"id": f"t{n:02d}", "input": "?", "target": ["alpha", "beta"][n % 2], "stratum": str(n % 4),
         "verifier": "contains", "metadata": {"shy": n % 4 == 3}}
        for n in range(tasks)
    ]  # fmt: skip
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    code = run(
        ["value", str(skill), "--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/agent.py:answer",
         "--run-dir", str(place / "run"), "--operators", "delete", "--method", "chain", "-k", "24", "-b", "8",
         "--tolerance", "off", "--yes", "--quiet", *flags]
    )  # fmt: skip
    assert code == 0
    return place


def asked(place):
    """The ids of all tasks that the agent was asked so far, in order."""
    return (place / "log.txt").read_text().split()


@pytest.fixture(scope="session")
def valued():
    """The skill's text, and how to value it somewhere and see what its agent was asked."""
    return SimpleNamespace(SKILL=SKILL, value_tiny=value_tiny, asked=asked)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The valued skill, once for a module."""
    return value_tiny(tmp_path_factory.mktemp("valued"))


@pytest.fixture
def place(original, tmp_path):
    """A copy of the run, so that tests do not pay for each other. Its manifest still points at the original tasks."""
    shutil.copytree(original / "run", tmp_path / "run")
    return tmp_path
