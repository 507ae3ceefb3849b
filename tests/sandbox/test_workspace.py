"""Workspaces, the workspace pool, and renderings written to a folder."""

from __future__ import annotations

import errno
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from skillsv.errors import RolloutError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.task import Task
from skillsv.sandbox.process import private_environment
from skillsv.sandbox.workspace import (
    folder_name,
    fresh_workspace,
    place_skill,
    remove_agent_links,
    remove_pool,
    return_to_pool,
    take_from_pool,
    write_tree,
)


def rendering(*files: RenderedFile, name: str = "demo") -> Rendering:
    return Rendering(
        coalition=frozenset(), operator=Operator.DELETE, skill_name=name, main="SKILL.md", files=files, digest="d"
    )


def file(path: str, data: bytes | None = b"x", **more) -> RenderedFile:
    return RenderedFile(path=path, data=data, digest="", **more)


def task(**files: Path) -> Task:
    return Task(id="t", input="?", files=files)


def test_rendering_is_written_with_its_bytes_and_executable_bits(tmp_path):
    large = tmp_path / "large.bin"
    large.write_bytes(b"\0\xff" * 1000)
    tree = tmp_path / "tree"
    write_tree(
        rendering(
            file("SKILL.md", b"\xef\xbb\xbf# A\r\n"),
            file("scripts/run.sh", b"#!/bin/sh\n", executable=True),
            file("data/large.bin", None, origin=large),
        ),
        tree,
    )
    assert (tree / "SKILL.md").read_bytes() == b"\xef\xbb\xbf# A\r\n"
    assert (tree / "data/large.bin").read_bytes() == large.read_bytes()
    assert (tree / "scripts/run.sh").stat().st_mode & stat.S_IXUSR
    assert not (tree / "SKILL.md").stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "", ".", "a\0b"])
def test_path_that_leaves_the_folder_is_refused(tmp_path, path):
    with pytest.raises(RolloutError, match="leaves the folder") as caught:
        write_tree(rendering(file(path)), tmp_path / "in")
    assert caught.value.kind == "sandbox"
    assert not (tmp_path / "out").exists()


def test_full_disk_is_a_disk_failure(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RolloutError, match="No space left") as caught:
        write_tree(rendering(file("SKILL.md")), tmp_path / "in")
    assert caught.value.kind == "disk"


def test_file_in_place_of_the_folder_is_a_sandbox_failure(tmp_path):
    (tmp_path / "in").write_text("not a folder")
    with pytest.raises(RolloutError) as caught:
        write_tree(rendering(file("SKILL.md")), tmp_path / "in")
    assert caught.value.kind == "sandbox"


def test_workspace_has_copies_of_the_task_files_and_is_removed(tmp_path):
    source = tmp_path / "source.csv"
    source.write_text("1,2")
    source.chmod(0o400)
    with fresh_workspace(task(**{"in/data.csv": source}), parent=tmp_path) as folder:
        copy = folder / "in/data.csv"
        assert copy.read_text() == "1,2"
        copy.write_text("the agent may edit its copy")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(copy.stat().st_mode) == 0o644
    assert source.read_text() == "1,2"
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("with_file", [False, True])
def test_workspace_is_removed_after_a_cancellation(tmp_path, with_file):
    source = tmp_path / "source"
    source.write_text("x")
    seen: list[Path] = []

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with fresh_workspace(task(**({"a": source} if with_file else {})), parent=tmp_path) as folder:
                (folder / "deep" / "er").mkdir(parents=True)
                (folder / "deep" / "er").chmod(0)
                seen.append(folder)
                scope.cancel()
                await anyio.sleep_forever()

    anyio.run(main)
    assert not seen[0].exists()


def test_workspace_is_removed_if_copying_files_fails(tmp_path):
    with pytest.raises(RolloutError), fresh_workspace(task(a=tmp_path / "missing"), parent=tmp_path):
        pytest.fail("a task's file was missing")
    assert list(tmp_path.iterdir()) == []

    async def main() -> None:
        async with fresh_workspace(task(a=tmp_path / "missing"), parent=tmp_path):
            pytest.fail("a task's file was missing")

    with pytest.raises(RolloutError):
        anyio.run(main)
    assert list(tmp_path.iterdir()) == []


def test_full_disk_while_copying_task_files_is_a_disk_failure(tmp_path, monkeypatch):
    def full(origin, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    source = tmp_path / "source"
    source.write_text("x")
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(RolloutError) as caught, fresh_workspace(task(a=source), parent=tmp_path):
        pytest.fail("there was no room")
    assert caught.value.kind == "disk"
    assert list(tmp_path.iterdir()) == [source]


def test_two_workspaces_have_different_folders(tmp_path):
    with fresh_workspace(task(), parent=tmp_path) as one, fresh_workspace(task(), parent=tmp_path) as other:
        assert one != other


def test_link_in_a_workspace_is_removed_and_not_followed(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("x")
    with fresh_workspace(task(), parent=tmp_path) as folder:
        (folder / "link").symlink_to(keep)
    assert (keep / "file").exists()


def test_skill_is_written_to_a_folder_of_its_name(tmp_path):
    skill = rendering(file("SKILL.md", b"hello"), name="pdf tools")
    assert place_skill(skill, tmp_path, ".claude/skills") == tmp_path / ".claude/skills/pdf-tools"
    assert (tmp_path / ".claude/skills/pdf-tools/SKILL.md").read_bytes() == b"hello"


def test_skill_dir_outside_the_workspace_is_refused(tmp_path):
    with pytest.raises(RolloutError, match="leaves the folder"):
        place_skill(rendering(file("SKILL.md")), tmp_path / "work", "../elsewhere")


@pytest.mark.parametrize(
    ("name", "safe"),
    [("../../etc", "-..-etc"), ("a/b", "a-b"), ("a  b", "a--b"), ("", "skill"), ("..", "skill"), ("ok-1.2", "ok-1.2")],
)
def test_folder_name_has_only_safe_characters(name, safe):
    assert folder_name(name) == safe


def test_a_long_skill_name_is_cut_in_the_workspace(tmp_path):
    assert place_skill(rendering(file("SKILL.md"), name="x" * 99), tmp_path, None).name == "x" * 64


def test_environment_has_only_forwarded_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hidden")
    monkeypatch.setenv("DECLARED", "shown")
    env = private_environment(tmp_path, ("DECLARED", "NOT_SET"))
    assert env["DECLARED"] == "shown"
    assert set(env) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "DECLARED"}
    assert Path(env["HOME"]).parent == Path(env["TMPDIR"]).parent == tmp_path
    assert Path(env["HOME"]).is_dir()


def test_real_home_is_visible_only_if_it_is_forwarded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "the real one")
    assert private_environment(tmp_path)["HOME"] == str(tmp_path / ".home")
    assert private_environment(tmp_path, ("HOME",))["HOME"] == "the real one"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path.resolve()
    remove_pool()
    assert list(tmp_path.iterdir()) == []


def test_empty_workspace_is_used_again(temporary):
    with fresh_workspace(task()) as first:
        pass
    with fresh_workspace(task()) as second:
        assert second == first
        with fresh_workspace(task()) as third:
            assert third != second


def test_workspace_with_a_file_is_removed(temporary):
    with fresh_workspace(task()) as folder:
        (folder / "trace").write_text("of the skill")
    assert not folder.exists()
    with fresh_workspace(task()) as after:
        assert list(after.iterdir()) == []


def test_workspace_that_others_may_read_is_removed(temporary):
    with fresh_workspace(task()) as folder:
        folder.chmod(0o755)
    assert not folder.exists()


def test_workspace_is_not_used_again_after_an_error(temporary):
    with pytest.raises(ValueError, match="failed"), fresh_workspace(task()) as folder:
        raise ValueError("failed")
    assert not folder.exists()

    async def main() -> Path:
        with anyio.CancelScope() as scope:
            async with fresh_workspace(task()) as cancelled:
                scope.cancel()
                await anyio.sleep_forever()
        return cancelled

    assert not anyio.run(main).exists()


def test_pooled_folder_that_was_filled_or_removed_is_not_used(temporary):
    for name in ("filled", "removed"):
        (temporary / name).mkdir(mode=0o700)
        assert return_to_pool(temporary / name)
    (temporary / "filled" / "late").write_text("x")
    (temporary / "removed").rmdir()
    assert take_from_pool(temporary) is None
    (temporary / "filled" / "late").unlink()
    (temporary / "filled").rmdir()


def test_workspace_with_a_given_parent_is_always_removed(tmp_path):
    with fresh_workspace(task(), parent=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_pool_is_removed_at_the_end_of_the_process(tmp_path):
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


def test_links_are_removed_only_from_workspaces_that_are_in_use(tmp_path):
    def link(folder):
        (folder / "link").symlink_to("/etc/passwd")
        anyio.run(remove_agent_links, folder)
        return (folder / "link").is_symlink()

    assert link(tmp_path)
    with fresh_workspace(Task(id="t", input="?"), parent=tmp_path) as workspace:
        assert not link(workspace)
    workspace.mkdir()
    assert link(workspace)
