"""Working folders of a killed process are removed by the next one; those of running processes are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.leftovers import folder_prefix, remove_leftovers

HOLD = """
import sys
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
with fresh_workspace(Task(id="t", input="")) as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process with a workspace in `tmp_path`, and the path of the workspace."""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
    )
    folder = tmp_path / process.stdout.readline().strip()
    yield process, folder
    process.kill()
    process.wait()


def test_folders_of_a_killed_process_are_removed(holder, tmp_path):
    process, folder = holder
    (tmp_path / "skillsv-other").mkdir()
    (tmp_path / "unrelated").mkdir()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert folder.is_dir()
    assert remove_leftovers(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["skillsv-other", "unrelated"]


def test_folders_of_a_running_process_stay(holder, tmp_path):
    _, folder = holder
    assert remove_leftovers(tmp_path) == 0
    assert (folder / "deep" / "file").read_text() == "x"


def test_a_process_that_ends_leaves_no_lock(holder, tmp_path):
    process, _ = holder
    process.communicate("")
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_place_of_a_folder_is_not_followed(holder, tmp_path):
    process, folder = holder
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (tmp_path / f"{folder.name[:21]}link").symlink_to(tmp_path / "precious")
    remove_leftovers(tmp_path)
    assert (tmp_path / "precious" / "file").read_text() == "mine"


def test_workspaces_have_the_prefix_of_their_process():
    with fresh_workspace(Task(id="t", input="")) as folder:
        assert folder.name.startswith(folder_prefix())
