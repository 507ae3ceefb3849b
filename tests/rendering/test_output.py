"""Output folders: complete or not at all, and never over files of the user."""

from __future__ import annotations

import os

import pytest

from skillsv.errors import OutputError
from skillsv.rendering.output import MARK, new_folder


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("text")
    return folder


def write(target, skill, text="new", **options):
    with new_folder(target, skill=skill, **options) as folder:
        (folder / "SKILL.md").write_text(text)


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_new_folder_is_made_with_its_parents(skill, tmp_path):
    target = tmp_path / "out" / "deep"
    write(target, skill)
    assert (target / "SKILL.md").read_text() == "new"
    assert not leftovers(target.parent)
    assert target.stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask():
    current = os.umask(0)
    os.umask(current)
    return current


def test_an_existing_folder_is_replaced_only_with_force(skill, tmp_path):
    target = tmp_path / "out"
    write(target, skill, "old")
    with pytest.raises(OutputError, match="exists already"):
        write(target, skill)
    assert (target / "SKILL.md").read_text() == "old"
    write(target, skill, force=True)
    assert (target / "SKILL.md").read_text() == "new"
    assert not leftovers(tmp_path)


def test_force_replaces_empty_folders_but_no_others(skill, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    write(other, skill, force=True)
    assert sorted(path.name for path in other.iterdir()) == [MARK, "SKILL.md"]
    home = tmp_path / "home"
    home.mkdir()
    (home / "diary.txt").write_text("dear diary")
    monkeypatch.setenv("HOME", str(home))
    file = tmp_path / "file"
    file.write_text("x")
    link = tmp_path / "link"
    link.symlink_to(skill)
    for target in (home, file, link):
        with pytest.raises(OutputError):
            write(target, skill, force=True)
    assert (home / "diary.txt").read_text() == "dear diary"
    assert file.read_text() == "x"
    assert link.is_symlink()


@pytest.mark.parametrize("inside", [".", "sub", "sub/../other", ".."])
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_or_around_the_skill_is_refused(skill, inside, force):
    with pytest.raises(OutputError, match=r"inside the skill|holds the skill"):
        write(skill / inside, skill, force=force)
    assert (skill / "SKILL.md").read_text() == "text"
    assert [path.name for path in skill.iterdir()] == ["SKILL.md"]


def test_a_skill_of_one_file_allows_folders_beside_it(skill, tmp_path):
    write(skill / "out", skill / "SKILL.md")
    with pytest.raises(OutputError):
        write(skill / "SKILL.md", skill / "SKILL.md", force=True)


def test_the_working_folder_is_not_replaced(skill, tmp_path, monkeypatch):
    target = tmp_path / "out"
    write(target, skill, "old")
    monkeypatch.chdir(target)
    with pytest.raises(OutputError, match="working folder"):
        write(target, skill, force=True)
    assert (target / "SKILL.md").read_text() == "old"


def test_an_empty_rendering_is_an_empty_folder(skill, tmp_path):
    with new_folder(tmp_path / "out", skill=skill):
        pass
    assert list((tmp_path / "out").iterdir()) == []


def test_an_error_while_writing_leaves_no_files(skill, tmp_path):
    target = tmp_path / "out"
    write(target, skill, "old")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):
        with (  # noqa: PT012 - the fault is inside the block
            pytest.raises((OutputError, KeyboardInterrupt)),
            new_folder(target, skill=skill, force=True) as folder,
        ):
            (folder / "SKILL.md").write_text("half")
            raise error
    assert (target / "SKILL.md").read_text() == "old"
    assert not leftovers(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_output_error(skill, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="Choose another folder") as caught:
        write(tmp_path / "file" / "out", skill)
    assert caught.value.exit_code == 2
