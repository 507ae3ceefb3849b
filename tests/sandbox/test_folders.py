"""Folders are listed and removed without recursion, whatever a program left in them."""

import os
import sys
from pathlib import Path

import pytest

from skillsv.model.task import Task
from skillsv.sandbox.folders import remove_folder, walk, walk_files
from skillsv.sandbox.workspace import fresh_workspace

DEEP = 2 * sys.getrecursionlimit()


def make_deep(root: Path, depth: int, name: str = "d") -> None:
    """A chain of folders with a file at its end: far longer than a path may be."""
    folder = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["d", "n" * 200])
def test_a_workspace_with_folders_deeper_than_the_stack_is_removed(tmp_path, request, name):
    request.addfinalizer(lambda: remove_folder(tmp_path))  # too deep for the cleaning of pytest
    with fresh_workspace(Task(id="t", input="?"), parent=tmp_path) as workspace:
        make_deep(workspace, DEEP, name)
        assert 0 < sum(1 for _ in walk(workspace)) <= DEEP + 1
    assert list(tmp_path.iterdir()) == []


def test_names_and_permissions_of_a_program_do_not_keep_a_folder(tmp_path):
    folder = tmp_path / "folder"
    for path in ("a/b/c", "locked/in/side"):
        (folder / path).mkdir(parents=True)
        (folder / path / "file").write_text("x")
    (folder / "link").symlink_to(tmp_path)
    (folder / "a/link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    for path in ("locked/in/side", "locked/in", "locked"):
        (folder / path).chmod(0)
    assert remove_folder(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_removed_raises_nothing(tmp_path):
    assert remove_folder(tmp_path / "missing")
    (tmp_path / "file").write_text("x")
    assert not remove_folder(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path)
    assert not remove_folder(tmp_path / "link")
    assert (tmp_path / "file").read_text() == "x", "a link is not followed"


def test_the_order_is_files_then_subfolders_and_links_are_not_followed(tmp_path):
    for path in ("b/y", "b/x/z", "a/q", "top"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "a/up").symlink_to(tmp_path)
    names = [path.relative_to(tmp_path).as_posix() for path in walk_files(tmp_path)]
    assert names == ["top", "a/q", "a/up", "b/y", "b/x/z"]
