"""`skillsv render` as a person or a script calls it."""

from __future__ import annotations

import json
import os
import sys

import pytest

from skillsv.cli import run
from skillsv.compiler import compile_skill
from skillsv.rendering import token_counter

SKILL = """---
name: tiny
description: Two sections and a script.
---

# Steps

- Run `scripts/go.sh` first.
- Then read the answer.

# Notes

Nothing else matters, \u00e9tude.
"""


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "tiny"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    script = folder / "scripts" / "go.sh"
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)
    (folder / "LICENSE").write_text("Free.\n")
    return folder


@pytest.fixture
def names(skill):
    """The ids by a word of their text."""
    compiled = compile_skill(skill)
    data = (skill / "SKILL.md").read_bytes()
    words = {"run": b"Run", "read": b"Then", "note": b"Nothing"}
    return {
        key: next(u.id for u in compiled.units if u.file == "SKILL.md" and word in data[u.span.start : u.span.end])
        for key, word in words.items()
    } | {"m": compiled.trigger, "script": "scripts/go.sh"}


def test_the_text_is_printed(skill, names, capfdbinary):
    assert run(["render", str(skill), "--keep", f"{names['m']},{names['note']}"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.decode() == SKILL.split("# Steps", maxsplit=1)[0] + "# Notes\n" + SKILL.split("# Notes\n")[1]


def test_keep_all_gives_the_original_byte_for_byte(skill, capfdbinary):
    (skill / "SKILL.md").write_bytes(SKILL.encode() + b"\r\ncaf\xe9\r\n")
    for operator in ("delete", "pad"):
        assert run(["render", str(skill), "--keep", "all", "--operator", operator]) == 0
        assert capfdbinary.readouterr().out == SKILL.encode() + b"\r\ncaf\xe9\r\n"


def test_keeping_no_unit_is_the_bare_agent(skill, tmp_path, capsys):
    assert run(["render", str(skill), "--keep", "", "-o", str(tmp_path / "out")]) == 0
    assert not list((tmp_path / "out").iterdir())
    assert "bare agent" in capsys.readouterr().err


def test_a_written_folder_keeps_executable_bits(skill, names, tmp_path, capsys):
    target = tmp_path / "out"
    assert run(["render", str(skill), "--drop", names["note"], "-o", str(target)]) == 0
    captured = capsys.readouterr()
    assert not captured.out
    assert str(target) in captured.err
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()) == [
        ".skillsv-output",
        "LICENSE",
        "SKILL.md",
        "scripts/go.sh",
    ]
    assert os.access(target / "scripts" / "go.sh", os.X_OK)
    assert "# Notes" not in (target / "SKILL.md").read_text()


def test_drop_removes_the_units_that_need_it(skill, names, capsys):
    assert run(["render", str(skill), "--drop", names["script"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert names["run"] not in found["kept"]
    assert names["note"] in found["kept"]
    assert [file["path"] for file in found["files"]] == ["LICENSE", "SKILL.md"]


def test_json_describes_a_padded_rendering(skill, names, capsys):
    assert run(["render", str(skill), "--keep", names["m"], "--operator", "pad", "--filler", "dots", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "skillsv.rendering/1"
    assert found["tokens"] == found["tokens_original"]
    assert token_counter("o200k")(found["text"]) == token_counter("o200k")(SKILL)
    assert " . ." in found["text"]
    assert len(found["digest"]) == 64


def test_diff_in_a_pipe_has_no_colour(skill, names, capsys):
    assert run(["render", str(skill), "--drop", names["note"], "--diff"]) == 0
    out = capsys.readouterr().out
    assert "--- a/SKILL.md\n+++ b/SKILL.md\n" in out
    assert "\n-Nothing else matters, \u00e9tude.\n" in out
    assert "\x1b" not in out


def test_diff_on_a_terminal_has_colour(skill, names, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run(["render", str(skill), "--drop", names["note"], "--diff"]) == 0
    assert "\x1b[38;5;160m-Nothing else matters" in capsys.readouterr().out


def test_a_deleted_file_is_in_the_diff(skill, names, capsys):
    assert run(["render", str(skill), "--drop", names["script"], "--diff"]) == 0
    assert "--- a/scripts/go.sh\n+++ /dev/null\n" in capsys.readouterr().out


def refusals(skill, names, tmp_path):
    existing = tmp_path / "there"
    existing.mkdir(exist_ok=True)
    (existing / "SKILL.md").write_text("old")
    all_ = ["--keep", "all"]
    return {
        "not closed": (["--keep", f"{names['m']},{names['run']}"], names["script"]),
        "unknown kept": (["--keep", "nonsense"], "nonsense"),
        "unknown dropped": (["--drop", "nonsense"], "nonsense"),
        "neither": ([], "--keep"),
        "both": (["--keep", "all", "--drop", names["note"]], "--keep"),
        "operator": ([*all_, "--operator", "shred"], "shred"),
        "tokenizer": ([*all_, "--tokenizer", "abacus"], "abacus"),
        "filler": ([*all_, "--filler", "poems"], "poems"),
        "exists": ([*all_, "-o", str(existing)], "exists already"),
        "inside": ([*all_, "-o", str(skill / "out")], "inside the skill"),
        "unwritable": ([*all_, "-o", str(skill.parent / "there" / "SKILL.md" / "x")], "is a file, not a folder"),
    }


@pytest.mark.parametrize(
    "case",
    ["not closed", "unknown kept", "unknown dropped", "neither", "both", "operator", "tokenizer", "filler", "exists",
     "inside", "unwritable"],
)  # fmt: skip
def test_bad_input_gives_one_sentence_and_writes_nothing(skill, names, tmp_path, capsys, case):
    words, printed = refusals(skill, names, tmp_path)[case]
    before = sorted(path.as_posix() for path in tmp_path.rglob("*"))
    assert run(["render", str(skill), *words]) == 2
    captured = capsys.readouterr()
    assert printed in captured.err
    assert "Traceback" not in captured.err
    assert not captured.out
    assert sorted(path.as_posix() for path in tmp_path.rglob("*")) == before
    assert (tmp_path / "there" / "SKILL.md").read_text() == "old"


def test_force_replaces_an_earlier_rendering(skill, tmp_path):
    for text in ("first", "second"):
        (skill / "SKILL.md").write_text(f"{text}\n")
        assert run(["render", str(skill), "--keep", "all", "-o", str(tmp_path / "out"), "--force"]) == 0
    assert (tmp_path / "out" / "SKILL.md").read_text() == "second\n"


def test_notes_say_what_the_rendering_changed(tmp_path, capsys):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: odd\ndescription: d\n---\nOne.\n```\ncode\n```\nTwo.\n")
    (folder / "logo.png").write_bytes(b"\x89PNG\0")
    compiled = compile_skill(folder)
    fence = next(unit.id for unit in compiled.units if unit.form == "fence")
    assert run(["render", str(folder), "--drop", fence]) == 0
    assert "reads" in capsys.readouterr().err
    assert run(["render", str(folder), "--keep", compiled.trigger, "--operator", "pad"]) == 0
    assert "logo.png cannot be padded" in capsys.readouterr().err
