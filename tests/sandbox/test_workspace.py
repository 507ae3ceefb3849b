"""Folders of rollouts: private, filled, removed; and a rendered skill on disk, byte for byte."""

from __future__ import annotations

import errno
import shutil
import stat
from pathlib import Path

import anyio
import pytest

from skillsv.errors import RolloutError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.task import Task
from skillsv.sandbox.process import private_environment
from skillsv.sandbox.workspace import folder_name, fresh_workspace, place_skill, write_tree


def rendering(*files: RenderedFile, name: str = "demo") -> Rendering:
    return Rendering(
        coalition=frozenset(), operator=Operator.DELETE, skill_name=name, main="SKILL.md", files=files, digest="d"
    )


def file(path: str, data: bytes | None = b"x", **more) -> RenderedFile:
    return RenderedFile(path=path, data=data, digest="", **more)


def task(**files: Path) -> Task:
    return Task(id="t", input="?", files=files)


def test_a_tree_is_written_byte_for_byte_with_its_run_bits(tmp_path):
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
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, path):
    with pytest.raises(RolloutError, match="leaves the folder") as caught:
        write_tree(rendering(file(path)), tmp_path / "in")
    assert caught.value.kind == "sandbox"
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_a_failure_of_the_disk(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(RolloutError, match="No space left") as caught:
        write_tree(rendering(file("SKILL.md")), tmp_path / "in")
    assert caught.value.kind == "disk"


def test_a_file_in_the_way_is_a_failure_of_the_sandbox(tmp_path):
    (tmp_path / "in").write_text("not a folder")
    with pytest.raises(RolloutError) as caught:
        write_tree(rendering(file("SKILL.md")), tmp_path / "in")
    assert caught.value.kind == "sandbox"


def test_a_workspace_holds_the_tasks_files_and_is_removed(tmp_path):
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


@pytest.mark.parametrize("filled", [False, True])
def test_a_workspace_is_removed_when_the_rollout_is_cancelled(tmp_path, filled):
    source = tmp_path / "source"
    source.write_text("x")
    seen: list[Path] = []

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with fresh_workspace(task(**({"a": source} if filled else {})), parent=tmp_path) as folder:
                (folder / "deep" / "er").mkdir(parents=True)
                (folder / "deep" / "er").chmod(0)
                seen.append(folder)
                scope.cancel()
                await anyio.sleep_forever()

    anyio.run(main)
    assert not seen[0].exists()


def test_a_workspace_is_removed_when_filling_it_fails(tmp_path):
    with pytest.raises(RolloutError), fresh_workspace(task(a=tmp_path / "missing"), parent=tmp_path):
        pytest.fail("a task's file was missing")
    assert list(tmp_path.iterdir()) == []

    async def main() -> None:
        async with fresh_workspace(task(a=tmp_path / "missing"), parent=tmp_path):
            pytest.fail("a task's file was missing")

    with pytest.raises(RolloutError):
        anyio.run(main)
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_a_workspace_is_a_failure_of_the_disk(tmp_path, monkeypatch):
    def full(origin, place):
        raise OSError(errno.ENOSPC, "No space left on device")

    source = tmp_path / "source"
    source.write_text("x")
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(RolloutError) as caught, fresh_workspace(task(a=source), parent=tmp_path):
        pytest.fail("there was no room")
    assert caught.value.kind == "disk"
    assert list(tmp_path.iterdir()) == [source]


def test_two_workspaces_are_two_folders(tmp_path):
    with fresh_workspace(task(), parent=tmp_path) as one, fresh_workspace(task(), parent=tmp_path) as other:
        assert one != other


def test_a_link_left_by_a_program_is_removed_and_not_followed(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("x")
    with fresh_workspace(task(), parent=tmp_path) as folder:
        (folder / "link").symlink_to(keep)
    assert (keep / "file").exists()


def test_the_skill_is_placed_under_its_name(tmp_path):
    skill = rendering(file("SKILL.md", b"hello"), name="pdf tools")
    assert place_skill(skill, tmp_path, ".claude/skills") == tmp_path / ".claude/skills/pdf-tools"
    assert (tmp_path / ".claude/skills/pdf-tools/SKILL.md").read_bytes() == b"hello"


def test_a_skill_dir_outside_the_workspace_is_refused(tmp_path):
    with pytest.raises(RolloutError, match="leaves the folder"):
        place_skill(rendering(file("SKILL.md")), tmp_path / "work", "../elsewhere")


@pytest.mark.parametrize(
    ("name", "safe"),
    [("../../etc", "etc"), ("a/b", "a-b"), ("", "skill"), ("..", "skill"), ("ok-1.2", "ok-1.2"), ("x" * 99, "x" * 64)],
)
def test_folder_names_are_one_safe_word(name, safe):
    assert folder_name(name) == safe


def test_the_environment_holds_only_what_was_declared(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "hidden")
    monkeypatch.setenv("DECLARED", "shown")
    env = private_environment(tmp_path, ("DECLARED", "NOT_SET"))
    assert env["DECLARED"] == "shown"
    assert set(env) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "DECLARED"}
    assert Path(env["HOME"]).parent == Path(env["TMPDIR"]).parent == tmp_path
    assert Path(env["HOME"]).is_dir()


def test_the_real_home_is_there_only_for_those_who_declare_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "the real one")
    assert private_environment(tmp_path)["HOME"] == str(tmp_path / ".home")
    assert private_environment(tmp_path, ("HOME",))["HOME"] == "the real one"
