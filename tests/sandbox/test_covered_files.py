"""Files that fingerprints cover, and files that change during a run."""

import os
import sys

import pytest

from skillsv.errors import SettingsError
from skillsv.sandbox import covered_files
from skillsv.sandbox.covered_files import CoveredFiles, FileWatch, command_files, declared_files, python_files
from skillsv.sandbox.sources import command_line


def write(folder, **texts):
    """Files by name; `__` in a name is a slash and `_dot_` a dot."""
    for name, text in texts.items():
        path = folder / name.replace("_dot_", ".").replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def command(folder, text):
    return command_files(command_line(text, folder), folder)


def names(covered):
    return sorted(label for label, _ in covered.further)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("from .other import x", "other.py"),
        ("from . import other", "other.py"),
        ("from ..above import x", "above.py"),
        ("from .deep.inner import x", "inner.py"),
    ],
)
def test_relative_imports_of_a_package_are_further_files(tmp_path, module, name):
    write(tmp_path, agent_dot_py="from pack.sub.main import run", pack__sub__main_dot_py=module)
    write(tmp_path, pack__sub__other_dot_py="x = 1", pack__above_dot_py="x = 1", pack__sub__deep__inner_dot_py="x = 1")
    covered = python_files(tmp_path / "agent.py")
    assert name not in [path.name for path in covered.basic]
    assert names(covered) == [name]


def test_imports_that_were_always_covered_are_no_further_files(tmp_path):
    write(tmp_path, agent_dot_py="import a\nfrom .b import x\nfrom pack import c", a_dot_py="", b_dot_py="x = 1")
    write(tmp_path, pack____init___dot_py="", pack__c_dot_py="")
    assert names(python_files(tmp_path / "agent.py")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python3 agent.py data", ["one.txt", "sub/two.txt"]),
        ("python3 agent.py --data=data", ["one.txt", "sub/two.txt"]),
        ("python3 agent.py --data data", ["one.txt", "sub/two.txt"]),
        ("python3 agent.py config=conf.json", ["conf.json"]),
        ("bash -c 'python3 helper.py'", ["helper.py"]),
        ("bash -ec 'cat; sh ./outer.sh'", ["helper.py", "outer.sh"]),
        ("./outer.sh", ["helper.py"]),
        ("python3 agent.py --log-dir=data", []),
        ("python3 agent.py --output data", []),
        ("python3 agent.py .", []),
        ("python3 agent.py skill", []),
        ("sh ./reads_skill.sh", []),
    ],
)
def test_what_a_command_line_names_is_covered(tmp_path, text, found):
    write(tmp_path, agent_dot_py="", conf_dot_json="{}", helper_dot_py="", data__one_dot_txt="1")
    write(tmp_path, data__sub__two_dot_txt="2", data___dot_hidden__three_dot_txt="3", skill__SKILL_dot_md="#")
    write(tmp_path, outer_dot_sh='#!/bin/sh\nexec python3 "$(dirname "$0")/helper.py"\n')
    write(tmp_path, reads_skill_dot_sh='python3 "$SKILLSV_SKILL/helper.py"; cat ${SKILLSV_SKILL}/outer.sh\n')
    (tmp_path / "outer.sh").chmod(0o755)
    assert names(command(tmp_path, text)) == found


def test_a_script_in_a_folder_that_the_text_enters_is_covered(tmp_path):
    write(tmp_path, elsewhere__helper_dot_py="")
    covered = command(tmp_path, f"bash -c 'cd {tmp_path}/elsewhere && python3 helper.py'")
    assert names(covered) == ["helper.py"]


def test_a_folder_that_is_too_large_is_named_and_not_covered(tmp_path, monkeypatch):
    monkeypatch.setattr(covered_files, "MOST_FILES", 1)
    write(tmp_path, agent_dot_py="", data__one="1", data__two="2")
    covered = command(tmp_path, "python3 agent.py data")
    assert covered.skipped == (tmp_path / "data",)
    assert names(covered) == []


def test_declared_files_are_names_folders_and_globs(tmp_path):
    write(tmp_path, a_dot_txt="1", b_dot_txt="2", data__deep__c_dot_txt="3")
    for pattern, count in {"a.txt": 1, "*.txt": 2, "data": 1, "**/*.txt": 3, str(tmp_path / "b.txt"): 1}.items():
        assert len(declared_files([pattern], tmp_path).further) == count


def test_a_declared_pattern_without_files_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="--depends-on nothing"):
        declared_files(["nothing*"], tmp_path)


def test_a_touched_file_is_no_change_but_new_bytes_are(tmp_path):
    write(tmp_path, a_dot_txt="1")
    watch = FileWatch(CoveredFiles(basic=(tmp_path / "a.txt",)))
    os.utime(tmp_path / "a.txt", (1, 1))
    assert watch.find_change() is None
    write(tmp_path, a_dot_txt="2")
    assert watch.find_change() == tmp_path / "a.txt"


@pytest.mark.parametrize("change", ["edit", "remove", "add"])
def test_a_change_in_a_covered_folder_is_found(tmp_path, change):
    write(tmp_path, agent_dot_py="", data__one="1")
    watch = FileWatch(command(tmp_path, f"{sys.executable} agent.py data"))
    assert watch.find_change() is None
    if change == "edit":
        write(tmp_path, data__one="22")
    elif change == "add":
        write(tmp_path, data__two="2")
    else:
        (tmp_path / "data" / "one").unlink()
    assert watch.find_change() is not None
