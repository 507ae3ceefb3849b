"""Twenty more ways to damage or lock a ledger: each is one sentence, nothing is overwritten, and nothing is paid twice."""

import contextlib
import json
import shutil
import sqlite3

import pytest

from skillsv.cli import run


@pytest.fixture(scope="module")
def valued(tmp_path_factory):
    place = tmp_path_factory.mktemp("valued")
    (place / "tiny").mkdir()
    (place / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n- Mumble.\n")
    (place / "agent.py").write_text(
        "from pathlib import Path\n"
        "def answer(skill, task, replicate):\n"
        "    with Path(__file__).with_name('calls').open('a') as calls:\n        calls.write('x')\n"
        "    return 'alpha' if skill and 'alpha' in skill.text else ''\n"
    )
    task = {"input": "?", "target": "alpha", "verifier": "contains"}
    (place / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(4)))
    assert value(place) == 0
    return place


def value(place):
    words = ["--tasks", f"{place}/tasks.jsonl", "--agent", f"python:{place}/agent.py:answer", "-k", "2", "-b", "2"]
    return run(["value", f"{place}/tiny", *words, "--panel-b", "0", "--yes", "--quiet", "--run-dir", f"{place}/run"])


@pytest.fixture
def place(valued, tmp_path, monkeypatch):
    shutil.copytree(valued, tmp_path / "p")
    (tmp_path / "p/calls").write_text("")
    return tmp_path / "p"


def patch(start, data):
    def act(path):
        text = bytearray(path.read_bytes())
        text[start : start + len(data)] = data
        path.write_bytes(text)

    return act


def sql(*statements):
    def act(path):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return act


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"hello\n" * 100),
    "half": lambda path: path.write_bytes(path.read_bytes()[:6000]),
    "first page gone": patch(0, bytes(4096)),
    "magic": patch(0, b"XQLite"),
    "page size": patch(16, b"\x00\x07"),
    "application id": patch(68, b"EVIL"),
    "newer version": sql("PRAGMA user_version = 999"),
    "negative version": sql("PRAGMA user_version = -1"),
    "no table": sql("DROP TABLE detail", "DROP TABLE rollout"),
    "other table": sql("DROP TABLE detail", "DROP TABLE rollout", "CREATE TABLE rollout (id INTEGER)"),
    "root page": patch(100, b"\xff" * 40),
    "middle": patch(8192, b"\xaa" * 2000),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to itself": lambda path: (path.unlink(), path.symlink_to(path.name)),
}

VALUES = {
    "score of two": "UPDATE rollout SET score = 2.0",
    "score of text": "UPDATE rollout SET score = 'high'",
    "score below zero": "UPDATE rollout SET score = -1",
    "kind of failure": "UPDATE rollout SET score = NULL, failure = 'nonsense'",
    "tokens of text": "UPDATE rollout SET input_tokens = 'many'",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_ledger_is_a_sentence_and_is_kept(place, capsys, damage):
    ledger = place / "run/ledger.sqlite"
    damage(ledger)
    before = ledger.read_bytes() if ledger.is_file() else None
    capsys.readouterr()
    for words in (["status"], ["report"]):
        code = run([*words, str(place / "run")])
        errors = capsys.readouterr().err
        assert code in {0, 2}, errors
        assert "an error in skillsv itself" not in errors
    assert before is None or ledger.read_bytes() == before, "reading changes nothing"
    code = value(place)
    errors = capsys.readouterr().err
    assert "an error in skillsv itself" not in errors
    assert code in {0, 2}, errors
    assert code == 0 or before is None or ledger.read_bytes() == before, "a damaged ledger is left as it is"


@pytest.mark.parametrize("statement", VALUES.values(), ids=VALUES)
def test_values_that_no_rollout_has_end_no_command_with_a_traceback(place, capsys, statement):
    sql("PRAGMA ignore_check_constraints = 1", statement)(place / "run/ledger.sqlite")
    (place / "run/records.jsonl").unlink()
    (place / "run/records.crc32").unlink()
    capsys.readouterr()
    code = value(place)
    errors = capsys.readouterr().err
    assert "an error in skillsv itself" not in errors
    assert code in {0, 1, 2, 5}, errors
    run(["status", str(place / "run")])
    assert "an error in skillsv itself" not in capsys.readouterr().err
