"""Command lines of `skillsv shrink` that cannot work are refused before anything is spent."""

import json

import pytest

from skillsv.cli import run

SKILL = """\
---
name: words
description: Words to say.
---

# Words

- Say `alpha` whenever anybody asks for the first of the words.
- Speak of `gamma` to nobody, and write of it to nobody either.
"""

AGENT = """\
from pathlib import Path

def words(skill, task):
    with Path(__file__).with_name("log.txt").open("a") as log:
        log.write(task.id + "\\n")
    return skill.text if skill else ""
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A skill, its agent, and 120 tasks, in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").mkdir()
    (tmp_path / "words/SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "old.md").write_text("my own notes\n")
    (tmp_path / "file").write_text("")
    lines = [{"id": f"t{n:03d}", "input": "?", "target": "alpha", "verifier": "contains"} for n in range(120)]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return tmp_path


def shrink(*flags):
    return run(
        ["shrink", "words", "--tasks", "tasks.jsonl", "--agent", "python:agent.py:words", "--run-dir", "run",
         "--max-rollouts", "500", "--quiet", *flags]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-o", "words/shorter"], "inside the skill"),
        (["-o", "/proc/x"], "/proc/x"),
        (["-o", "file/x"], "file, not a folder"),
        (["--markdown", "nosuch/x.md"], "nosuch"),
        (["--markdown", "words"], "words"),
        (["--markdown", "old.md"], "--force"),
        (["--markdown", "old.md", "--force"], "not written by skillsv"),
        (["--refine", "foo"], "foo"),
        (["--refine", "command:./nosuch.sh"], "nosuch.sh"),
        (["--ask-judge"], "--judge"),
        (["--keep", "SKILL.md"], "--keep"),
    ],
)
def test_what_cannot_work_is_refused_before_any_rollout(place, capsys, flags, words):
    code = shrink(*flags)
    error = capsys.readouterr().err
    assert (code, (place / "log.txt").exists()) == (2, False)
    assert words in error
    assert (place / "old.md").read_text() == "my own notes\n"
    assert not (place / "run").exists(), "nothing was begun"


@pytest.mark.parametrize("body", ["", "# Words\n"])
def test_a_skill_of_which_nothing_can_go_is_refused(place, capsys, body):
    (place / "words/SKILL.md").write_text("---\nname: words\ndescription: Words to say.\n---\n" + body)
    code = shrink()
    assert (code, (place / "log.txt").exists()) == (2, False)
    assert "nothing" in capsys.readouterr().err


@pytest.mark.heavy
def test_a_result_that_cannot_be_written_is_printed_first(place, capsys, monkeypatch):
    def fail(*_arguments, **_flags):
        raise PermissionError(13, "Permission denied", "short")

    monkeypatch.setattr("skillsv.api.shrunk_skill.ShrunkSkill.write", fail)
    assert shrink("-o", "short", "--json") == 2
    output, error = capsys.readouterr()
    assert json.loads(output)["outcome"] == "no worse"
    assert "Permission denied" in error
    assert "run" in error
