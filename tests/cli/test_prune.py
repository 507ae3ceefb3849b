import json
import shutil
import subprocess

import pytest

from skillsv.api.lint import lint as lint_skill
from skillsv.cli import run
from skillsv.cli.demo import example_folder
from skillsv.compiler import compile_skill


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


def test_worthless_and_harmful_units_are_removed_others_stay(place, capsys):
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
    pruned(place, capsys, "--share", "0.5", "--yes", "-o", str(tmp_path / "short"))
    copy = tmp_path / "copy"
    shutil.copytree(place / "support-desk", copy)
    subprocess.run(["git", "apply", str(tmp_path / "short.patch")], cwd=copy, check=True)
    for file in (tmp_path / "short").rglob("[!.]*.*"):
        assert (copy / file.relative_to(tmp_path / "short")).read_bytes() == file.read_bytes()


def test_only_harmful_keeps_the_unused_rule(place, capsys):
    answer = pruned(place, capsys, "--only", "harmful")
    assert len(answer["removed"]) == 1


def test_output_into_the_original_skill_is_refused(place, capsys):
    assert run(["prune", str(place / "run"), "-o", str(place / "support-desk")]) == 2
    assert "inside the skill" in capsys.readouterr().err


def test_two_goals_at_once_are_refused(place, capsys):
    assert run(["prune", str(place / "run"), "--only", "harmful", "--share", "0.2"]) == 2
    assert run(["prune", str(place / "run"), "--max-drop", "0.1", "--share", "0.2"]) == 2


def test_a_drop_is_given_in_points(place, capsys):
    answer = pruned(place, capsys, "--max-drop", "2")
    assert answer["kept"]
    assert answer["path"][-1]["lost_value"] <= 0.02
    further = pruned(place, capsys, "--max-drop", "20")
    assert len(answer["removed"]) < len(further["removed"])
    assert 0.02 < further["path"][-1]["lost_value"] <= 0.2


@pytest.mark.parametrize("drop", ["-1", "101", "nan"])
def test_a_drop_out_of_range_is_refused(place, capsys, drop):
    assert run(["prune", str(place / "run"), f"--max-drop={drop}"]) == 2
    assert "points between 0 and 100" in capsys.readouterr().err


def test_a_drop_that_looks_like_a_share_gets_a_note(place, capsys):
    assert run(["prune", str(place / "run"), "--max-drop", "0.15"]) == 0
    assert "0.15 points of a hundred; did you mean 15?" in capsys.readouterr().err


def test_more_than_half_is_removed_only_with_yes(place, capsys, tmp_path):
    short = tmp_path / "short"
    words = ["prune", str(place / "run"), "--max-drop", "100", "-o", str(short)]
    assert run(words) == 2
    printed = capsys.readouterr().err
    assert "more than half of the skill would go" in printed
    assert "--yes" in printed
    assert not short.exists()
    assert run([*words, "--yes"]) == 0
    assert (short / "SKILL.md").is_file()


def test_more_than_half_is_not_removed_in_place_without_yes(place, capsys):
    before = (place / "support-desk/SKILL.md").read_bytes()
    assert run(["prune", str(place / "run"), "--share", "0.7", "--in-place"]) == 2
    assert (place / "support-desk/SKILL.md").read_bytes() == before


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_a_person_at_a_terminal_is_asked_about_more_than_half(place, capsys, tmp_path, monkeypatch, answer, code):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda: answer)
    assert run(["prune", str(place / "run"), "--share", "0.7", "-o", str(tmp_path / "short")]) == code
    printed = capsys.readouterr().err
    assert "tokens stay" in printed
    assert ("nothing was removed" in printed) is (code == 2)
    assert (tmp_path / "short").exists() is (code == 0)


def test_a_run_without_output_needs_no_yes(place, capsys):
    assert len(pruned(place, capsys, "--share", "0.7")["removed"]) > 1


def test_the_predicted_change_has_an_interval_and_is_no_better_than_the_values_say(place, capsys):
    answer = pruned(place, capsys)
    predicted = answer["predicted"]
    assert predicted["low"] < predicted["value"] < predicted["high"]
    assert predicted["value"] <= -answer["path"][-1]["lost_value"]


def test_in_place_changes_the_skill_once_keeps_a_backup_and_then_refuses(place, capsys, tmp_path):
    before = (place / "support-desk/SKILL.md").read_bytes()
    assert run(["prune", str(place / "run"), "--in-place", "--only", "harmful"]) == 0
    (backup,) = (place / "run/backup").iterdir()
    assert (backup / "SKILL.md").read_bytes() == before
    assert "urgent" not in (place / "support-desk/SKILL.md").read_text()
    assert (place / "support-desk/evals/tasks.jsonl").is_file()
    assert run(["prune", str(place / "run"), "--in-place"]) == 2
    assert "has changed since" in capsys.readouterr().err
