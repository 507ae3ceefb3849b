"""The smoke gate: a run ends early where the skill changes no score of its first tasks."""

import json

import pytest

from skillsv.cli import run

SKILL = "---\nname: words\ndescription: Words to say.\n---\n\n# Words\n\n- Say `alpha`.\n- Say `beta`.\n"
FOLLOWS = 'return " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""'


@pytest.fixture
def value(tmp_path, monkeypatch):
    """Runs `skillsv value` on `count` tasks with an agent whose last line is `body`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "SKILL.md").write_text(SKILL)

    def call(body, *flags, count=40, limit=400):
        lines = [
            'log = open("log.txt", "a")',
            "def answer(skill, task, replicate):",
            "    print(task.id, file=log, flush=True)",
        ]
        (tmp_path / "agent.py").write_text("\n".join(["import re", *lines, f"    {body}"]) + "\n")
        tasks = [
            {"id": f"t{number}", "input": f"Question {number}?\x1b[2J", "target": "alpha", "verifier": "contains"}
            for number in range(count)
        ]
        (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        words = ["value", "words", "--tasks", "tasks.jsonl", "--agent", "python:agent.py:answer", "--panel-b", "0"]
        return run([*words, "--quiet", "--operators", "delete", "--max-rollouts", str(limit), *flags])

    return call


def calls(folder):
    return (folder / "log.txt").read_text().count("\n")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('return "no idea\\x1b[31m"', "all score 0 with it and without it"),
        ('return "alpha"', "all score 1 with it and without it"),
        ('return "alpha" if int(task.id[1:]) % 2 else "no idea"', "each scores the same"),
    ],
)
def test_a_skill_without_effect_ends_the_run_and_shows_answers(value, tmp_path, capsys, body, words):
    assert value(body) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert f"changed no score on 24 tasks ({words}" in err
    assert err.count("Answer with the skill (score") == err.count("Answer without the skill (score") == 2
    assert "Question " in err
    assert "\x1b" not in err
    assert "--keep-going" in err
    assert "raise the limit" not in err
    assert calls(tmp_path) == 48


@pytest.mark.heavy
def test_keep_going_values_a_skill_without_effect(value, tmp_path, capsys):
    assert value('return "alpha"') == 5
    checked = calls(tmp_path)
    assert value('return "alpha"', "--keep-going", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert any("changed no score" in note for note in answer["notes"])
    assert not [name for name in answer["settings"] if "keep" in name]
    assert answer["rollouts"]["reused"] >= checked
    assert calls(tmp_path) == checked + answer["rollouts"]["spent"]


def test_a_difference_on_a_later_task_continues_the_run(value, tmp_path, capsys):
    assert (
        value('return "alpha" if skill and task.id in ("t3", "t5", "t9") else ""', "--window", "1", "--orders", "40")
        == 0
    )
    capsys.readouterr()
    assert calls(tmp_path) <= 400


@pytest.mark.heavy
def test_a_skill_with_an_effect_is_valued_without_a_warning(value, capsys):
    assert value(FOLLOWS, "--json") == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert not any("changed no score" in note for note in notes)


def test_a_small_panel_is_checked_as_a_whole(value, tmp_path, capsys):
    assert value('return ""', "--window", "1", count=3) == 5
    assert "changed no score on 3 tasks" in capsys.readouterr().err
    assert calls(tmp_path) == 6


def test_too_few_checked_tasks_do_not_end_a_run(value, tmp_path, capsys):
    assert value('return ""', "--window", "1", limit=10) == 4
    assert "--keep-going" not in capsys.readouterr().err
    assert calls(tmp_path) <= 10
