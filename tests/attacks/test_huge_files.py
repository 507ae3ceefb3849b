"""Files that look huge or are: a skill, a task or a program must not fill the disk or keep a command busy for ever."""

import json
import os
import sys
from functools import partial

import anyio
import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.cli import run
from skillsv.compiler import read
from skillsv.errors import AgentFailure, SkillError, TaskError
from skillsv.model.rollout import FailureKind
from skillsv.model.task import Task
from skillsv.sandbox import folder_quota
from skillsv.sandbox.folder_quota import FolderQuota
from skillsv.sandbox.folders import remove_folder
from skillsv.sandbox.process import Limits, run_program
from skillsv.tasks import load_tasks

TERABYTE = 1024**4


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("# Words\n\nSay `alpha`.\n")
    return folder


def make_sparse(path, size=TERABYTE):
    with path.open("wb") as file:
        os.ftruncate(file.fileno(), size)
    assert path.stat().st_blocks == 0


@pytest.mark.parametrize("command", ["compile", "lint", "plan"])
def test_a_sparse_terabyte_in_a_skill_is_refused_by_its_apparent_size(skill, capsys, command):
    make_sparse(skill / "data.bin")
    assert run([command, str(skill)]) == 2
    assert "data.bin has 1,099,511,627,776 bytes" in capsys.readouterr().err


def test_many_sparse_files_and_many_small_ones_are_refused(skill, monkeypatch):
    for number in range(5):
        make_sparse(skill / f"{number}.bin", 1000)
    monkeypatch.setattr(read, "MAX_SKILL", 4500)
    with pytest.raises(SkillError, match="more than 4,500 bytes"):
        read.read_skill(skill)
    monkeypatch.setattr(read, "MAX_SKILL", 5000)
    assert len(read.read_skill(skill)[0].files) == 6
    monkeypatch.setattr(read, "MAX_FILES", 5)
    with pytest.raises(SkillError, match="more than 5 files"):
        read.read_skill(skill)


def test_a_sparse_terabyte_of_a_task_is_refused(tmp_path):
    make_sparse(tmp_path / "data.bin")
    task = {"id": "t", "input": "?", "target": "x", "files": ["data.bin"]}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    with pytest.raises(TaskError, match="1,099,511,627,776 bytes"):
        load_tasks(tmp_path / "tasks.jsonl")


ENDLESS = {
    "bytes": "while True: open('f', 'ab').write(bytes(10_000))",
    "sparse": "import time; open('f', 'wb').truncate(1 << 40); time.sleep(1000)",
    "files": "import itertools\nfor n in itertools.count(): open(f'f{n}', 'w')",
    "folders": "import itertools, os\nfor n in itertools.count(): os.mkdir(f'd{n}')",
    "deep": "import os\nwhile True: os.mkdir('d' * 200); os.chdir('d' * 200)",
}
SMALL = FolderQuota(max_bytes=1_000_000, max_files=300)


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_a_program_that_fills_its_folder_is_ended_while_it_runs(tmp_path, monkeypatch, request, code):
    request.addfinalizer(lambda: remove_folder(tmp_path))  # too deep for the cleaning of pytest
    monkeypatch.setattr(folder_quota, "CHECK_SECONDS", 0.01)
    limits = Limits(seconds=20.0, folder=SMALL, grace=0.0, file_bytes=None)
    argv = [sys.executable, "-I", "-S", "-c", code]
    done = anyio.run(partial(run_program, argv, cwd=tmp_path, env={}, limits=limits))
    assert not done.timed_out
    assert done.over_quota.startswith(("the working folder holds more than", "the folders in the working folder"))


@pytest.mark.parametrize(("size", "over"), [(1_000_000, False), (1_000_001, True)])
def test_a_program_that_ends_before_the_first_check_is_checked(tmp_path, size, over):
    argv = [sys.executable, "-I", "-S", "-c", f"open('f', 'wb').truncate({size})"]
    done = anyio.run(partial(run_program, argv, cwd=tmp_path, env={}, limits=Limits(folder=SMALL)))
    assert (done.code, done.over_quota is not None) == (0, over)


def test_a_command_agent_over_its_quota_is_a_failure_of_the_disk(tmp_path):
    (tmp_path / "agent.py").write_text("open('f', 'wb').truncate(1 << 40)\nprint('alpha')\n")
    (tmp_path / "work").mkdir()
    agent = make_agent(f"command:{sys.executable} agent.py", AgentOptions(folder=tmp_path, file_bytes=None))
    with pytest.raises(AgentFailure, match="holds more than") as raised:
        anyio.run(agent.run, None, Task(id="t", input="?"), 0, tmp_path / "work")
    assert raised.value.kind == FailureKind.DISK
