import json
import shutil

import pytest

from skillsv.cli import run


@pytest.fixture(scope="module")
def edited(original, tmp_path_factory):
    """The same skill with one unit gone, one new, and one under another heading, valued on the same tasks."""
    folder = tmp_path_factory.mktemp("edited")
    skill = folder / "tiny"
    skill.mkdir()
    text = (original / "tiny/SKILL.md").read_text().replace("- Mumble while you are at it.\n", "")
    text = text.replace("- Say `alpha`", "- Be kind to all.\n\n# More words\n\n- Say `alpha`")
    (skill / "SKILL.md").write_text(text)
    assert run(
        ["value", str(skill), "--tasks", str(original / "tasks.jsonl"), "--agent", f"python:{original}/agent.py:answer",
         "--run-dir", str(folder / "run"), "--operators", "delete", "--method", "chain", "-k", "24", "-b", "8",
         "--tolerance", "off", "--yes", "--quiet"]
    ) == 0  # fmt: skip
    return folder / "run"


def compared(capsys, *runs):
    capsys.readouterr()
    assert run(["compare", *map(str, runs), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_units_are_matched_by_id_then_by_text(original, edited, capsys):
    answer = compared(capsys, original / "run", edited)
    kinds = [unit["matched"] for unit in answer["units"]]
    assert kinds.count("gone") == 1
    assert kinds.count("new") == 1
    assert kinds.count("text") == 4  # their heading is another, their words are the same
    assert answer["tokens_before"] != answer["tokens_after"]
    assert answer["notes"] == ["The runs are of different versions of the skill."]


def test_a_run_compared_with_itself_shows_no_change(original, capsys):
    answer = compared(capsys, original / "run", original / "run")
    assert {unit["matched"] for unit in answer["units"]} == {"id"}
    for unit in answer["units"]:
        assert unit["change"]["value"] == 0
        assert unit["change"]["low"] <= 0 <= unit["change"]["high"]
    assert answer["notes"] == []


def test_other_rules_are_not_another_version_of_the_skill(original, tmp_path, capsys):
    shutil.copytree(original / "run", tmp_path / "run")
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    recorded = manifest["settings"] if "granularity" in manifest["settings"] else manifest["about"]["settings"]
    recorded["without"] = ["R3"]
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest))
    (note,) = compared(capsys, original / "run", tmp_path / "run")["notes"]
    assert note == "The skill was cut into units by different rules or settings; its files are the same."


def test_the_lift_without_the_harmful_unit_is_higher(original, edited, capsys):
    answer = compared(capsys, original / "run", edited)
    assert answer["lift_change"]["value"] > 0
    assert answer["full_change"]["value"] == pytest.approx(0.25, abs=0.1)
    capsys.readouterr()
    assert run(["compare", str(original / "run"), str(edited)]) == 0
    printed = capsys.readouterr().out
    assert "gone; it was worth" in printed
    assert "new; worth" in printed


def test_a_folder_without_a_run_is_named(original, tmp_path, capsys):
    assert run(["compare", str(original / "run"), str(tmp_path)]) == 2
    assert "no run" in capsys.readouterr().err


def test_people_read_lines_and_first_words(original, edited, capsys):
    capsys.readouterr()
    assert run(["compare", str(original / "run"), str(edited)]) == 0
    text = capsys.readouterr().out
    assert "Line 12: Mumble while you are at it.: gone" in text
    assert "Line 8: Be kind to all.: new" in text
    assert "/bullet-" not in text
