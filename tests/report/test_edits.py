import base64
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.edit import PruneStep
from skillsv.report.edits import MOST_BYTES, ShorterSkill, file_diffs, patch_lines, removal_views, saved_file
from skillsv.report.line_names import LineNames
from skillsv.report.sentences import execution_units

FILES = st.dictionaries(
    st.sampled_from(["SKILL.md", "references/a.md", "scripts/b.py"]),
    st.lists(st.sampled_from(["one", "two", "- three", "", "é", "\x0c"]), max_size=6).flatmap(
        lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
    ),
    min_size=1,
)


def shorter_of(case, after, steps=()):
    before = {file.path: file.data for file in case.compiled.skill.files}
    return ShorterSkill(
        before=before, after=after, main="SKILL.md", steps=tuple(steps), tokens_before=200, tokens_after=150,
        full_score=0.8,
    )  # fmt: skip


def files_of(case):
    return {file.path: file.data for file in case.compiled.skill.files}


LINE = b"- Give amounts in euros, with two decimals.\n"


def test_the_diff_of_a_file_has_numbers_and_notes_of_removed_lines(case):
    main = files_of(case)["SKILL.md"]
    number = main[: main.index(LINE)].count(b"\n") + 1
    shorter = shorter_of(case, {**files_of(case), "SKILL.md": main.replace(LINE, b"")})
    (diff,) = file_diffs(shorter, {("SKILL.md", number): "step 1"})
    removed = [line for line in diff.lines if line.mark == "-"]
    assert [(line.number, line.text, line.note) for line in removed] == [(number, LINE.decode().strip(), "step 1")]
    assert (diff.removed, diff.added) == (1, 0)
    assert diff.summary == "1 line deleted"
    shown = sum(line.mark in "- " for line in diff.lines)
    left_out = sum(int(line.text.split()[0]) for line in diff.lines if line.mark == "@")
    assert shown + left_out == main.count(b"\n")


def test_the_diff_counts_blank_lines_apart(case):
    files = files_of(case)
    files["SKILL.md"] = files["SKILL.md"].replace(b"\nThank you for reading this far.\n", b"")
    (diff,) = file_diffs(shorter_of(case, files), {})
    assert diff.summary == "1 line and 1 blank line deleted"
    files["SKILL.md"] = files_of(case)["SKILL.md"] + b"One more line.\n"
    (diff,) = file_diffs(shorter_of(case, files), {})
    assert diff.summary == "1 line added"


def test_the_diff_shows_new_and_removed_files(case):
    files = files_of(case)
    files.pop("scripts/refund.py")
    files["references/new.md"] = b"Something new.\n"
    diffs = {diff.path: diff for diff in file_diffs(shorter_of(case, files), {})}
    assert {line.mark for line in diffs["references/new.md"].lines} == {"+"}
    assert {line.mark for line in diffs["scripts/refund.py"].lines} == {"-"}


def test_running_totals_follow_the_order_of_removal(case):
    first, second = execution_units(case.valuation)[:2]
    steps = [
        PruneStep(unit=unit.id, removed=(unit.id,), kept=frozenset(), tokens_left=left, share_removed=0.1,
                  lost_value=lost)
        for unit, left, lost in ((second, 180, -0.05), (first, 150, 0.02))
    ]  # fmt: skip
    names = LineNames(execution_units(case.valuation))
    views = removal_views(shorter_of(case, files_of(case), steps), names)
    assert [(view.number, view.tokens, view.score) for view in views] == [(1, "180", "85.0"), (2, "150", "78.0")]
    assert views[0].words.startswith(f"line {second.lines.first}: ")


def test_a_binary_change_has_no_patch(case):
    files = {**files_of(case), "picture.png": b"\x89PNG\0"}
    assert shorter_of(case, files).patch is None
    assert saved_file("x.patch", None) is None


def test_bytes_that_are_no_text_can_be_saved_but_not_copied():
    saved = saved_file("SKILL.md", b"caf\xe9\n")
    assert base64.b64decode(saved.base64) == b"caf\xe9\n"
    assert not saved.copied
    assert saved_file("SKILL.md", b"x" * (MOST_BYTES + 1)) is None


def encoded(files):
    return {path: text.encode() for path, text in files.items()}


def test_equal_versions_have_an_empty_patch():
    assert list(patch_lines({"a": b"x\n"}, {"a": b"x\n"})) == []


def test_a_patch_marks_a_missing_last_newline():
    lines = list(patch_lines({"a": b"x\ny"}, {"a": b"x\n"}))
    assert lines[-1] == "\\ No newline at end of file\n"


def test_a_patch_names_binary_files_without_their_content():
    assert list(patch_lines({"a": b"\0"}, {})) == ["Binary files a/a and /dev/null differ\n"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=20, deadline=None)
@given(old=FILES, new=FILES)
def test_git_applies_the_patch(tmp_path_factory, old, new):
    # A patch cannot create or delete an empty file, so these are left out
    old = {path: text for path, text in old.items() if text}
    new = {path: text for path, text in new.items() if text}
    folder = tmp_path_factory.mktemp("patch")
    for path, data in encoded(old).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    patch = "".join(patch_lines(encoded(old), encoded(new))).encode()
    if patch:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        result = subprocess.run(command, input=patch, cwd=folder, capture_output=True)
        assert result.returncode == 0, result.stderr
    patched = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert patched == encoded(new)
