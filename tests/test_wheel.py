"""The wheel, installed into a fresh environment, has the API, the command and the examples."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[1]

SKILL = """\
---
name: my-skill
description: Sends tickets to teams.
---
# Routing

- A refund goes to billing.
- A parcel goes to logistics.
- A password goes to billing.
"""

AGENT = """\
import re


def my_function(skill, task):
    word = task.input.split()[-1]
    rule = re.search(f"A {word} goes to ([a-z]+)", skill.text if skill else "")
    return rule[1] if rule else "accounts"
"""

SHORT_EXAMPLE = """\
import skillsv as sv

skill = sv.compile("my-skill")                  # folder, Markdown file, or a string of Markdown with or without frontmatter
plan = sv.plan(skill, tasks="tasks.jsonl")      # what it will cost
run = sv.value(skill, tasks=[...], agent=my_function, max_rollouts=500, progress=True)
run.valuation                                   # shows itself in a notebook; .to_frame(), .plot(), .to_dict()
run.valuation["routing/bullet-1"].net.low
run.report("report.html"); short = sv.prune(run); proof = sv.confirm(run, short, max_drop=2)
sv.load_run(".skillsv/my-skill"); sv.lint(skill); sv.render(skill, keep={...}); sv.orders(skill, n=100)
"""
"""What a user writes first. Only the tasks and the units to keep are filled in."""

AFTERWARDS = """
print(json.dumps({
    "home": sv.__file__,
    "complete": run.complete,
    "low": run.valuation["routing/bullet-1"].net.low,
    "page": open("report.html").read().count("<svg"),
    "removed": [unit.text.strip() for unit in run.valuation.units if unit.id in short.removed],
    "change": proof.change.value,
    "met": proof.met,
}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The folder of programs of a fresh environment with the wheel of this repository."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    run(sys.executable, "-m", "venv", folder / "environment")
    (wheel,) = folder.glob("skillsv-*.whl")
    programs = folder / "environment" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    return programs


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_short_example_runs_as_written(environment, tmp_path):
    (tmp_path / "my-skill").mkdir()
    (tmp_path / "my-skill" / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    teams = {"refund": "billing", "parcel": "logistics", "password": "accounts"}
    tasks = [
        {"id": f"{word}-{number}", "input": f"{number}. Where is my {word}", "target": team}
        for number in range(13)
        for word, team in teams.items()
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    command = ["value", "my-skill", "--tasks", "tasks.jsonl", "--agent", "python:agent.py:my_function"]
    variables = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    run(environment / "skillsv", *command, "--max-rollouts", "500", "--quiet", cwd=tmp_path, env=variables)
    before = f"import json\nfrom agent import my_function\ntasks = json.loads({json.dumps(json.dumps(tasks))})\n"
    example = SHORT_EXAMPLE.replace("[...]", "tasks").replace("{...}", '{"m", "routing/bullet-1"}')
    (tmp_path / "program.py").write_text(before + example + AFTERWARDS)
    found = json.loads(run(environment / "python", "program.py", cwd=tmp_path, env=variables))
    assert Path(found["home"]).is_relative_to(environment.parent)
    assert found["complete"]
    assert found["low"] > 0
    assert found["page"] > 0
    assert found["removed"] == ["- A password goes to billing."]
    assert found["change"] > 0
    assert found["met"]


def test_the_wheel_holds_the_examples(environment):
    (package,) = environment.parent.glob("lib/python*/site-packages/skillsv")
    assert {file.name for file in (package / "examples" / "python").iterdir()} == {
        file.name for file in (ROOT / "examples" / "python").iterdir() if file.suffix == ".ipynb"
    }
    assert (package / "examples" / "support-desk" / "SKILL.md").is_file()
