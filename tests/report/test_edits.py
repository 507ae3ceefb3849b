import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.value import Action
from skillsv.report.edits import patch_lines, revision_hunks, verdict_hunks
from skillsv.report.sentences import execution_units

FILES = st.dictionaries(
    st.sampled_from(["SKILL.md", "references/a.md", "scripts/b.py"]),
    st.lists(st.sampled_from(["one", "two", "- three", "", "é", "\x0c"]), max_size=6).flatmap(
        lambda lines: st.sampled_from(["\n".join(lines), "\n".join([*lines, ""])])
    ),
    min_size=1,
)


def test_each_unit_to_remove_or_shorten_is_one_hunk(case):
    hunks = verdict_hunks(case.valuation, case.compiled)
    to_edit = {Action.DELETE, Action.HARMFUL, Action.COMPRESS}
    assert [hunk.unit for hunk in hunks] == [
        unit.id for unit in execution_units(case.valuation) if unit.verdict.action in to_edit
    ]
    for hunk in hunks:
        unit = next(unit for unit in case.valuation.units if unit.id == hunk.unit)
        changed = [line.text for line in hunk.lines if line.mark != " "]
        assert "\n".join(changed).strip() == unit.text.strip()
        assert {line.mark for line in hunk.lines} <= {" ", "~" if unit.verdict.action is Action.COMPRESS else "-"}
        assert hunk.reasons == (unit.verdict.reason,)


def test_a_revision_is_a_diff_with_the_verdicts_of_changed_units(case):
    main = case.compiled.skill.file("SKILL.md").data
    line = b"- Give amounts in euros, with two decimals.\n"
    assert line in main
    (hunk,) = revision_hunks(case.valuation, case.compiled, {**_files(case), "SKILL.md": main.replace(line, b"")})
    assert [item.text for item in hunk.lines if item.mark == "-"] == ["- Give amounts in euros, with two decimals."]
    assert not [item for item in hunk.lines if item.mark == "+"]
    assert hunk.reasons[0].startswith("harmful: ")


def test_a_revision_shows_new_and_removed_files(case):
    files = _files(case)
    files.pop("scripts/refund.py")
    files["references/new.md"] = b"Something new.\n"
    hunks = revision_hunks(case.valuation, case.compiled, files)
    marks = {hunk.place.split(":")[0]: {line.mark for line in hunk.lines} for hunk in hunks}
    assert "+" in marks["references/new.md"]
    assert "-" in marks["scripts/refund.py"]


def _files(case):
    return {file.path: file.data for file in case.compiled.skill.files}


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
