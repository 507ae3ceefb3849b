"""Links and special files that are removed from a folder before a verifier reads it."""

import os

from skillsv.sandbox.links import remove_outside_links


def test_links_that_leave_the_folder_are_removed_at_any_depth(tmp_path):
    folder = tmp_path / "work"
    (folder / "a" / "b").mkdir(parents=True)
    (tmp_path / "secret").write_text("mine")
    (folder / "a" / "b" / "absolute").symlink_to(tmp_path / "secret")
    (folder / "a" / "up").symlink_to("../../secret")
    (folder / "parent").symlink_to("..")
    (folder / "through").symlink_to("parent/secret")
    (folder / "nowhere").symlink_to("/no/such/file")
    assert remove_outside_links(folder) == ["a/b/absolute", "a/up", "nowhere", "parent", "through"]
    assert (tmp_path / "secret").read_text() == "mine"
    assert [path.name for path in sorted(folder.rglob("*"))] == ["a", "b"]


def test_files_folders_and_inner_links_are_kept(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("x")
    (tmp_path / "relative").symlink_to("data/file")
    (tmp_path / "absolute").symlink_to(tmp_path / "data")
    (tmp_path / "dangling").symlink_to("data/later")
    assert remove_outside_links(tmp_path) == []
    assert (tmp_path / "absolute" / "file").read_text() == "x"


def test_links_in_a_circle_pipes_and_links_below_links_are_handled(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "self").symlink_to(".")
    assert remove_outside_links(tmp_path) == ["one", "pipe", "two"]
