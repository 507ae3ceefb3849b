"""A valuation with an Inspect task as the agent, from the command line, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

pytestmark = pytest.mark.heavy

SPEC = f"inspect:{Path(__file__).parent / 'files' / 'colours.py'}@colours"
SKILL = """---
name: faq
description: Colours of things.
---

# Facts

- The sky is blue.
- The grass is green.
- The door is heavy.
"""


@pytest.fixture
def place(tmp_path):
    for name in ("faq", "data", "tmp", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "faq" / "SKILL.md").write_text(SKILL)
    return tmp_path


def value(place: Path, tasks: str, *more: str) -> dict:
    """The valuation as JSON. Inspect gets its own data folder, and no variable that shows that tests run."""
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "INSPECT"))}
    env |= {"XDG_DATA_HOME": str(place / "data"), "TMPDIR": str(place / "tmp"), "HOME": str(place / "home")}
    line = ["value", "faq", "--tasks", tasks, "--agent", SPEC, "--operators", "delete", "--panel-b", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "skillsv", *line, "--yes", "--quiet", "--json", *more],
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def nets(valuation: dict) -> list[float]:
    return [round(unit["net"]["value"], 6) for unit in valuation["units"]]


def files_below(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


def test_facts_have_their_values_and_inspect_leaves_no_files(place):
    first = value(place, f"{SPEC}?repeat=2")
    assert nets(first) == [0.5, 0.5, 0.0]
    assert first["rollouts"]["failed"] == 0
    assert files_below(place / "data", place / "tmp", place / "home") == []
    assert not (place / "logs").exists()
    again = value(place, f"{SPEC}?repeat=2")
    assert again["rollouts"]["spent"] == 0
    assert nets(again) == nets(first)


def test_jsonl_tasks_are_valued_and_logs_are_written_on_request(place):
    facts = {"sky": "blue", "grass": "green"}
    lines = [
        {"id": f"{thing}{number}", "input": f"({number}) What colour is the {thing}?", "target": colour}
        for thing, colour in facts.items()
        for number in range(2)
    ]
    (place / "tasks.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    found = value(place, "tasks.jsonl", "--inspect-logs", "logs")
    assert nets(found) == [0.5, 0.5, 0.0]
    assert list((place / "logs").glob("*.eval"))
