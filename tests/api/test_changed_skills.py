"""The skills that differ from a base commit."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from skillsv.api.changed_skills import BaseCommit, changed_skills, differs_from_base
from skillsv.errors import SettingsError, SkillError

SKILL = "---\nname: words\ndescription: Words to say.\n---\n\n# Words\n\n- Say alpha.\n"


def git(folder, *words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "repo"
    (folder / "skills" / "words").mkdir(parents=True)
    (folder / "skills" / "words" / "SKILL.md").write_text(SKILL)
    git(folder, "init", "-q", "-b", "main")
    monkeypatch.chdir(folder)
    return folder


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")


def find(*paths):
    with changed_skills(BaseCommit.find(Path.cwd(), "HEAD"), paths) as changes:
        return [(change.path, change.status, len(change.edits)) for change in changes]


def test_what_is_not_committed_counts(place):
    commit(place)
    assert find() == []
    (place / "skills" / "words" / "SKILL.md").write_text(SKILL + "- Say beta.\n")
    assert find() == [("skills/words", "changed", 1)]


def test_the_base_version_has_the_name_of_the_skill_and_its_files_are_gone_afterwards(place):
    commit(place)
    (place / "skills" / "words" / "SKILL.md").write_text(SKILL + "- Say beta.\n")
    with changed_skills(BaseCommit.find(place, "HEAD"), ()) as changes:
        (change,) = changes
        assert change.base.name == change.new.name == "words"
        assert change.base.path.is_dir()
    assert not change.base.path.exists()


def test_a_mode_is_a_change(place):
    script = place / "skills" / "words" / "run.sh"
    script.write_text("echo\n")
    commit(place)
    script.chmod(0o755)
    assert [path for path, _, _ in find()] == ["skills/words"]


def test_a_moved_skill_is_new_and_deleted(place):
    commit(place)
    (place / "skills" / "words").rename(place / "skills" / "other")
    assert find() == [("skills/other", "new", 0), ("skills/words", "deleted", 0)]


def test_only_skills_at_or_below_the_paths_are_looked_at(place):
    commit(place)
    for name in ("skills/words", "more/words"):
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "SKILL.md").write_text(SKILL + "- Say beta.\n")
    assert find(Path("more")) == [("more/words", "new", 0)]
    with pytest.raises(SettingsError, match="outside the repository"):
        find(place.parent)
    (place / "empty").mkdir()
    with pytest.raises(SkillError, match="no skill"):
        find(place / "empty")


def test_a_file_of_git_lfs_that_did_not_change_is_no_change(place):
    data = b"large" * 100
    image = place / "skills" / "words" / "image.bin"
    digest = hashlib.sha256(data).hexdigest()
    image.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n")
    commit(place)
    image.write_bytes(data)  # as a checkout with Git LFS leaves it
    assert find() == []
    image.write_bytes(b"other")
    assert find() == [("skills/words", "changed", 1)]


def test_a_link_in_the_base_is_left_out(place):
    (place / "skills" / "words" / "link.md").symlink_to("/etc/passwd")
    commit(place)
    (place / "skills" / "words" / "SKILL.md").write_text(SKILL + "- Say beta.\n")
    with changed_skills(BaseCommit.find(place, "HEAD"), ()) as changes:
        assert [file.path for file in changes[0].base.compiled.skill.files] == ["SKILL.md"]


def test_whether_tasks_differ_from_the_base(place):
    tasks = place / "tasks.jsonl"
    tasks.write_text("{}\n")
    commit(place)
    base = BaseCommit.find(place, "HEAD")
    assert not differs_from_base(base, tasks)
    assert not differs_from_base(base, place.parent / "elsewhere.jsonl")
    tasks.write_text("{} \n")
    assert differs_from_base(base, tasks)
    assert differs_from_base(base, place)
