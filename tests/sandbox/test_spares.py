"""Empty folders serve again; nothing of one rollout reaches another."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from skillsv.model.task import Task
from skillsv.sandbox.workspace import fresh_workspace, keep_spare, remove_spares, take_spare

TASK = Task(id="t", input="?")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path.resolve()
    remove_spares()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_left_empty_serves_the_next_rollout(temporary):
    with fresh_workspace(TASK) as first:
        pass
    with fresh_workspace(TASK) as second:
        assert second == first
        with fresh_workspace(TASK) as third:
            assert third != second


def test_a_folder_with_anything_in_it_is_removed(temporary):
    with fresh_workspace(TASK) as folder:
        (folder / "trace").write_text("of the skill")
    assert not folder.exists()
    with fresh_workspace(TASK) as after:
        assert list(after.iterdir()) == []


def test_a_folder_made_readable_for_others_is_removed(temporary):
    with fresh_workspace(TASK) as folder:
        folder.chmod(0o755)
    assert not folder.exists()


def test_after_trouble_the_folder_is_removed_because_a_left_function_may_still_write(temporary):
    with pytest.raises(ValueError, match="trouble"), fresh_workspace(TASK) as folder:
        raise ValueError("trouble")
    assert not folder.exists()

    async def main() -> Path:
        with anyio.CancelScope() as scope:
            async with fresh_workspace(TASK) as cancelled:
                scope.cancel()
                await anyio.sleep_forever()
        return cancelled

    assert not anyio.run(main).exists()


def test_a_spare_that_was_filled_or_removed_meanwhile_is_not_used(temporary):
    for name in ("filled", "gone"):
        (temporary / name).mkdir(mode=0o700)
        assert keep_spare(temporary / name)
    (temporary / "filled" / "late").write_text("x")
    (temporary / "gone").rmdir()
    assert take_spare(temporary) is None
    (temporary / "filled" / "late").unlink()
    (temporary / "filled").rmdir()


def test_with_a_parent_given_every_folder_is_removed(tmp_path):
    with fresh_workspace(TASK, parent=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_process_leaves_no_folder_behind(tmp_path):
    code = """
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
with fresh_workspace(Task(id="t", input="?")) as folder:
    pass
print(folder.exists())
"""
    env = {"TMPDIR": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []
