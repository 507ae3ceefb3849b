"""Files of a commit are read without a checkout: nothing of the repository runs, and nothing leaves the folder."""

import hashlib
import subprocess

import pytest

from skillsv.errors import SettingsError, SkillError
from skillsv.sandbox.git_files import GitFile, GitRepository, blob_id, lfs_digest, safe_parts


def git(folder, *words, data=None):
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
        cwd=folder,
        input=data,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "repo"
    (folder / "skill" / "scripts").mkdir(parents=True)
    (folder / "skill" / "SKILL.md").write_bytes(b"# Words\r\n\xff\n")
    (folder / "skill" / "scripts" / "run.sh").write_text("echo\n")
    (folder / "skill" / "scripts" / "run.sh").chmod(0o755)
    (folder / "skill" / "link.md").symlink_to("/etc/passwd")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def test_files_are_written_with_bytes_and_modes_and_without_links(place, tmp_path):
    repository = GitRepository.containing(place / "skill")
    files = repository.list_files(repository.commit("main"))
    assert [file.path for file in files] == ["skill/SKILL.md", "skill/scripts/run.sh"]
    repository.write_files(files, "skill/", tmp_path / "out")
    assert (tmp_path / "out" / "SKILL.md").read_bytes() == b"# Words\r\n\xff\n"
    assert (tmp_path / "out" / "scripts" / "run.sh").stat().st_mode & 0o111
    assert not (tmp_path / "out" / "link.md").exists()
    assert files[0].blob == blob_id(b"# Words\r\n\xff\n", files[0].blob)


def test_no_hook_filter_or_monitor_runs(place, tmp_path):
    mark = tmp_path / "mark"
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for name in ("post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        hook = place / ".git" / "hooks" / name
        hook.write_text(program.read_text())
        hook.chmod(0o755)
    git(place, "config", "core.fsmonitor", str(program))
    for name in (
        "filter.own.smudge",
        "filter.own.clean",
        "filter.own.process",
        "diff.own.textconv",
        "diff.own.command",
    ):
        git(place, "config", name, str(program))
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text("* filter=own diff=own\n")
    repository = GitRepository.containing(place)
    commit = repository.commit("main")
    assert repository.merge_base(commit) == commit
    repository.write_files(repository.list_files(commit), "", tmp_path / "out")
    assert (tmp_path / "out" / "skill" / "SKILL.md").is_file()
    assert not mark.exists()


def test_a_tree_whose_path_leaves_the_folder_is_refused(place, tmp_path):
    blob = git(place, "hash-object", "-w", "--stdin", data=b"attack")
    inner = git(place, "mktree", data=f"100644 blob {blob}\tevil.txt\n".encode())
    outer = b"40000 ..\0" + bytes.fromhex(inner)
    tree = git(place, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=outer)
    commit = git(place, "commit-tree", tree, "-m", "evil")
    repository = GitRepository.containing(place)
    with pytest.raises(SkillError, match="leaves its folder"):
        repository.write_files(repository.list_files(commit), "", tmp_path / "deep" / "out")
    assert not (tmp_path / "deep" / "evil.txt").exists()


@pytest.mark.parametrize("path", ["../a", "a/../b", "/a", "a//b", ".git/config", "a/.GIT/hooks/x", ""])
def test_unsafe_paths_are_refused(path):
    with pytest.raises(SkillError):
        safe_parts(path, path)


def test_too_many_or_too_large_files_are_refused(place, tmp_path, monkeypatch):
    repository = GitRepository.containing(place)
    files = repository.list_files(repository.commit("main"))
    monkeypatch.setattr("skillsv.sandbox.git_files.MAX_FILES", 1)
    with pytest.raises(SkillError, match="too large"):
        repository.write_files(files, "", tmp_path / "out")
    huge = GitFile(path="a", mode="100644", blob=files[0].blob, size=10**9)
    with pytest.raises(SkillError, match="too large"):
        list(repository.read([huge]))


def test_a_missing_object_is_said(place):
    missing = GitFile(path="a.md", mode="100644", blob="0" * 40, size=1)
    with pytest.raises(SkillError, match="is missing"):
        list(GitRepository.containing(place).read([missing]))


def test_a_name_that_is_an_option_is_no_commit(place):
    with pytest.raises(SettingsError):
        GitRepository.containing(place).commit("--all")


def test_a_large_file_pointer_names_its_digest():
    digest = hashlib.sha256(b"data").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 4\n".encode()
    assert lfs_digest(pointer) == digest
    assert lfs_digest(b"# Words\n") is None
