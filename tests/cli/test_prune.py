import json
import shutil
import subprocess

import pytest

from skillsv.cli import run
from skillsv.cli.demo import example_folder
from skillsv.compile import compile_skill
from skillsv.compile.lint import lint_skill


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A finished run on a copy of the example, so that changing it in place harms nothing."""
    folder = tmp_path_factory.mktemp("prune")
    skill = folder / "support-desk"
    shutil.copytree(example_folder(), skill)
    code = run(
        ["value", str(skill), "--tasks", str(skill / "evals/tasks.jsonl"), "--run-dir", str(folder / "run"), "--quiet",
         "--agent", f"python:{skill}/evals/agent.py:answer", "--operators", "delete", "--method", "chain", "-k", "24", "-b", "12", "--yes"]
    )  # fmt: skip
    assert code == 0
    return folder


def pruned(place, capsys, *flags):
    capsys.readouterr()
    assert run(["prune", str(place / "run"), "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def test_worthless_and_harmful_units_go_and_the_rest_stays(place, capsys):
    answer = pruned(place, capsys)
    assert answer["path"][0]["unit"].startswith("before-you-send/")  # the harmful one goes first
    assert any(unit.startswith("routing/") for unit in answer["removed"])
    assert answer["tokens_after"] < answer["tokens_before"]


def test_the_shorter_skill_compiles_without_new_dangling_references(place, capsys, tmp_path):
    short = tmp_path / "support-desk"
    answer = pruned(place, capsys, "--share", "0.3", "-o", str(short))
    compiled = compile_skill(short)
    assert len(compiled.execution) == len(answer["kept"])
    assert not [finding for finding in lint_skill(short) if finding.code.startswith("dangling")]


def test_the_patch_turns_the_old_skill_into_the_new_one(place, capsys, tmp_path):
    pruned(place, capsys, "--share", "0.5", "-o", str(tmp_path / "short"))
    copy = tmp_path / "copy"
    shutil.copytree(place / "support-desk", copy)
    subprocess.run(["git", "apply", str(tmp_path / "short.patch")], cwd=copy, check=True)
    for file in (tmp_path / "short").rglob("*.*"):
        assert (copy / file.relative_to(tmp_path / "short")).read_bytes() == file.read_bytes()


def test_only_harmful_leaves_the_dead_rule(place, capsys):
    answer = pruned(place, capsys, "--only", "harmful")
    assert len(answer["removed"]) == 1


def test_the_original_is_never_the_target(place, capsys):
    assert run(["prune", str(place / "run"), "-o", str(place / "support-desk")]) == 2
    assert "inside the skill" in capsys.readouterr().err


def test_two_goals_at_once_are_refused(place, capsys):
    assert run(["prune", str(place / "run"), "--only", "harmful", "--share", "0.2"]) == 2
    assert run(["prune", str(place / "run"), "--max-drop", "0.1", "--share", "0.2"]) == 2


def test_in_place_changes_the_skill_once_and_then_refuses(place, capsys, tmp_path):
    assert run(["prune", str(place / "run"), "--in-place", "--only", "harmful"]) == 0
    assert "urgent" not in (place / "support-desk/SKILL.md").read_text()
    assert (place / "support-desk/evals/tasks.jsonl").is_file()
    assert run(["prune", str(place / "run"), "--in-place"]) == 2
    assert "has changed since" in capsys.readouterr().err
