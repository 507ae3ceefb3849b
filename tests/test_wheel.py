"""The wheel, installed into fresh environments, has the API, the command and the examples, on every Python there is."""

import json
import os
import shutil
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


OTHER_PYTHONS = ("3.12", "3.13", "3.14")
"""Versions besides the one that runs the tests. Those that are not on this machine are skipped."""

MOST_MEGABYTES = 285
"""Size of the base installation without pip: it was 281 MB when the extras `lsp` and `docs` came."""

SIZES = """
from importlib.metadata import distributions

names = {}
for found in distributions():
    files = [file.locate() for file in found.files or () if file.suffix != ".pyc"]
    names[found.name.lower()] = sum(file.stat().st_size for file in files if file.is_file())
print(__import__("json").dumps(names))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this repository."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("skillsv-*.whl")
    return wheel


@pytest.fixture(scope="module")
def environment(wheel):
    """The folder of programs of a fresh environment with the wheel."""
    return install(sys.executable, wheel, wheel.parent / "environment")


def install(python, wheel, folder):
    run(python, "-m", "venv", folder)
    programs = folder / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    return programs


def find_python(version):
    """The program of this version of Python, on the path or installed by pyenv; None where there is none."""
    installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    on_path = shutil.which(f"python{version}")
    works = on_path and subprocess.run([on_path, "--version"], capture_output=True).returncode == 0
    return on_path if works else next(map(str, installed), None)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", ["", *OTHER_PYTHONS])
def test_the_short_example_runs_as_written(request, version, tmp_path):
    if not version:
        environment = request.getfixturevalue("environment")
    else:
        python = find_python(version)
        if python is None:
            pytest.skip(f"Python {version} is not here")
        environment = install(python, request.getfixturevalue("wheel"), tmp_path / "environment")
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


def test_the_base_installation_is_no_larger_than_it_was(environment):
    sizes = json.loads(run(environment / "python", "-c", SIZES))
    assert "skillsv" in sizes
    assert not sizes.keys() & {"pygls", "lsprotocol", "mkdocs", "mkdocs-material"}, "these are extras"
    assert sum(size for name, size in sizes.items() if name not in {"pip", "setuptools"}) < MOST_MEGABYTES * 1_000_000


@pytest.mark.parametrize("tool", ["pipx", "uv"])
def test_pipx_and_uvx_run_the_wheel(wheel, tool, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "tools")
    programs = tmp_path / "tools" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", tool)
    homes = {"PIPX_HOME": str(tmp_path / "home"), "UV_CACHE_DIR": str(tmp_path / "cache")}
    words = {"pipx": ("pipx", "run", "--spec", wheel), "uv": ("uvx", "--from", wheel)}[tool]
    command = (programs / words[0], *words[1:], "skillsv", "lint", ROOT / "skills")
    printed = run(*command, env={**os.environ, **homes}, cwd=tmp_path)
    assert "1 skill: 0 errors, 0 warnings, 0 notes" in printed
