import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.report.edits import patch_lines

FILES = st.dictionaries(
    st.sampled_from(["SKILL.md", "references/a.md", "scripts/b.py"]),
    st.lists(st.sampled_from(["one", "two", "- three", "", "é", "\x0c"]), max_size=6).flatmap(
        lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
    ),
    min_size=1,
)


def encoded(files):
    return {path: text.encode() for path, text in files.items()}


def test_equal_versions_have_no_difference():
    assert list(patch_lines({"a": b"x\n"}, {"a": b"x\n"})) == []


def test_a_missing_last_newline_is_said():
    lines = list(patch_lines({"a": b"x\ny"}, {"a": b"x\n"}))
    assert lines[-1] == "\\ No newline at end of file\n"


def test_binary_files_are_not_shown():
    assert list(patch_lines({"a": b"\0"}, {})) == ["Binary files a/a and /dev/null differ\n"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=20, deadline=None)
@given(old=FILES, new=FILES)
def test_git_applies_the_patch(tmp_path_factory, old, new):
    # git says nothing of files that are empty on both sides of being there, so leave those out
    old = {path: text for path, text in old.items() if text}
    new = {path: text for path, text in new.items() if text}
    folder = tmp_path_factory.mktemp("patch")
    for path, data in encoded(old).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    patch = "".join(patch_lines(encoded(old), encoded(new))).encode()
    if patch:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, input=patch, cwd=folder, capture_output=True)
        assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == encoded(new)
