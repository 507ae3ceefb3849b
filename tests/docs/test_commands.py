"""Every block of commands in the documentation is run here, or says by a marker what it needs: `<!-- needs: a key -->`."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skillsv as sv

from .conftest import PAGES, ROOT, blocks_of, name_of

SHELL = "sh"

COMMAND = re.compile(r"^\s*(\$ |skillsv |pip |make |npm |export |python3? )", re.MULTILINE)

NEEDS = {
    "a clone of the repository",
    "a key",
    "a model server",
    "a pull request",
    "a terminal",
    "an agent",
    "an editor",
    "data of the benchmarks",
    "Ray",
    "the extra lsp",
}
"""What a block may need that a test does not have."""

EXECUTED = [page for page in PAGES if any(block.language == SHELL and not block.needs for block in blocks_of(page))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_marked_as_commands(page):
    for block in blocks_of(page):
        if block.language == SHELL:
            assert not block.needs or block.needs in NEEDS
        elif block.language not in {"python", "toml", "json", "lua", "yaml", "text"}:
            assert not COMMAND.search(block.body), f"a block of commands begins with ```{SHELL}"


def test_pages_have_commands_that_run():
    assert {"README.md", "docs/first-valuation.md", "docs/how-to/own-agent.md"} <= set(map(name_of, EXECUTED))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The files that commands name: a skill, tasks, agents, and a finished run."""
    place = tmp_path_factory.mktemp("commands")
    source = ROOT / "examples" / "walkthrough"
    shutil.copytree(source / "town-hall", place / "my-skill")
    main = place / "my-skill" / "SKILL.md"
    main.write_text(main.read_text("utf-8").replace("name: town-hall", "name: my-skill"), "utf-8")
    shutil.copy(source / "agent.py", place / "agent.py")
    for name in ("agent.sh", "my-agent.sh"):
        shutil.copy(source / "agent.sh", place / name)
    _write_tasks(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        agent = "python:agent.py:answer"
        run = sv.value("my-skill", tasks="tasks.jsonl", agent=agent, max_rollouts=1200, run_dir=".skillsv/my-skill")
    assert run.complete
    return place


def _write_tasks(place):
    """The forty questions of the walkthrough, three times: a proof of five points needs fifty-nine held-out tasks."""
    with (ROOT / "examples" / "walkthrough" / "tasks.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [json.dumps({**row, "id": f"q{number:03d}"}) for number, row in enumerate(rows * 3)]
    (place / "tasks.jsonl").write_text("\n".join(lines), "utf-8")


@pytest.mark.heavy
@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
def test_commands_run(page, prepared, tmp_path):
    shutil.copytree(prepared, tmp_path / "work")
    programs = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "120"}
    for block in blocks_of(page):
        if block.language == SHELL and not block.needs:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.body],
                cwd=tmp_path / "work",
                env=variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{block.body}\n{done.stdout}\n{done.stderr}"
