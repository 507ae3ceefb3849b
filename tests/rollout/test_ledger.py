"""The ledger keeps every paid rollout, whatever happens to the process, the disk or the file."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.errors import LedgerError
from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure, RolloutKey, Usage
from skillsv.rollout import ledger_file
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.ledger_file import explain_ledger_errors, is_locked


def key(number=0, **change):
    return RolloutKey(**({"tree": f"tree{number}", "task": "task", "agent": "agent/1", "replicate": 0} | change))


def scored(number=0, score=0.5, **change):
    return Rollout(key=key(number), task_id="t", score=score, **change)


def failed(number=0, kind=FailureKind.TIMEOUT, **change):
    failure = RolloutFailure(kind=kind, message="no answer")
    return Rollout(key=key(number), task_id="t", score=None, failure=failure, **change)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run" / "ledger.sqlite"


def test_what_is_recorded_comes_back_after_reopening(path):
    rollout = scored(
        usage=Usage(input_tokens=7, output_tokens=3, usd=0.01),
        duration=1.5,
        attempts=2,
        answer="forty-two \ud800",
        transcript="line\n" * 1000,
        opened=True,
    )
    with Ledger.open(path) as ledger:
        ledger.record(rollout, scored(1))
    with Ledger.open(path) as ledger:
        rollouts = ledger.lookup([key(0), key(1), key(2)])
        assert set(rollouts) == {key(0), key(1)}
        back = rollouts[key(0)]
        assert (back.score, back.usage, back.duration, back.attempts, back.opened) == (0.5, rollout.usage, 1.5, 2, True)
        detail = ledger.detail(key(0))
        assert detail is not None
        assert (detail.answer, detail.transcript) == (rollout.answer, rollout.transcript)
        assert ledger.detail(key(2)) is None
    assert path.stat().st_size < 40_000, "transcripts are compressed"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4)] * 3, st.integers(0, 3)),
        unique=True,
    )
)
def test_different_keys_never_collide(tmp_path_factory, parts):
    keys = [RolloutKey(tree=a, task=b, agent=c, replicate=d) for a, b, c, d in parts]
    with Ledger.open(tmp_path_factory.mktemp("l") / "ledger.sqlite") as ledger:
        expected = {key: 1 / (1 + index) for index, key in enumerate(keys)}
        ledger.record(*(Rollout(key=key, task_id="", score=score) for key, score in expected.items()))
        assert {key: rollout.score for key, rollout in ledger.lookup(keys).items()} == expected


def test_a_commit_waits_for_the_disk(path, monkeypatch):
    monkeypatch.undo()
    with Ledger.open(path) as ledger:
        assert ledger._writer.execute("PRAGMA synchronous").fetchone() == (2,), "FULL: a power cut loses nothing"
        assert ledger._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_missing_rollout_is_counted_but_not_returned(path):
    with Ledger.open(path) as ledger:
        ledger.record(failed(attempts=3, usage=Usage(usd=0.5)))
        assert ledger.lookup([key()]) == {}
        assert (ledger.summary().scored, ledger.summary().missing) == (0, 1)
        assert ledger.failures() == {FailureKind.TIMEOUT: 1}
        ledger.record(scored(score=1.0, attempts=1, usage=Usage(usd=0.25)))
        assert ledger.lookup([key()])[key()].score == 1.0
        total = ledger.summary()
        assert (total.scored, total.missing, total.attempts, total.usage.usd) == (1, 0, 4, 0.75)


def test_a_scored_rollout_is_never_replaced(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(score=1.0, answer="first"))
        ledger.record(scored(score=0.0, answer="second"))
        ledger.record(failed())
        assert ledger.lookup([key()])[key()].score == 1.0
        assert ledger.detail(key()).answer == "first"
        assert ledger.summary().attempts == 1


def test_counts_are_kept_by_run_and_unknown_usage_stays_unknown(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(0), scored(1), run="a")
        ledger.record(scored(2, usage=Usage(output_tokens=5)), failed(3), run="b")
        assert (ledger.summary("a").scored, ledger.summary("a").usage) == (2, Usage())
        assert (ledger.summary("b").scored, ledger.summary("b").missing) == (1, 1)
        assert ledger.summary("b").usage == Usage(output_tokens=5)
        assert ledger.summary().scored == 3


def test_counts_are_kept_by_agent(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(0, usage=Usage(usd=0.5)), scored(1))
        assert ledger.summary(agent=key().agent).usage.usd == 0.5
        assert ledger.summary(agent="another").scored == 0


def test_a_batch_is_saved_completely_or_not_at_all(path):
    with Ledger.open(path) as ledger:
        with pytest.raises(LedgerError):
            ledger.record(scored(0), scored(1, score=7.0))
        assert ledger.summary().scored == 0
        ledger.record(scored(0))
        assert ledger.summary().scored == 1


def test_a_second_writer_gets_an_error_that_names_the_first(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored())
        with pytest.raises(LedgerError) as refused:
            Ledger.open(path)
        assert str(path) in str(refused.value)
        assert str(os.getpid()) in str(refused.value)
        assert "--run-dir" in str(refused.value)
        assert is_locked(path)
        with Ledger.open(path, read_only=True) as reader:
            assert reader.summary().scored == 1, "status works beside a running run"
            ledger.record(scored(1))
            assert reader.summary().scored == 2, "and follows it"
            with pytest.raises(LedgerError, match="reading only"):
                reader.record(scored(2))
    assert not is_locked(path)
    Ledger.open(path).close()


def test_a_newer_schema_is_refused_and_not_changed(path):
    Ledger.open(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(LedgerError, match=r"schema 99.*Update"):
            Ledger.open(path, read_only=read_only)
    assert path.read_bytes() == before


def test_an_older_schema_is_migrated_with_its_rollouts(path, monkeypatch):
    with Ledger.open(path) as ledger:
        ledger.record(scored())
    newer = (*ledger_file.MIGRATIONS, ("ALTER TABLE rollout ADD COLUMN mood TEXT DEFAULT 'calm'",))
    monkeypatch.setattr(ledger_file, "MIGRATIONS", newer)
    with Ledger.open(path) as ledger:
        assert ledger.lookup([key()])[key()].score == 0.5
        assert ledger_file.version_of(ledger._reader) == len(newer)
        assert ledger._reader.execute("SELECT mood FROM rollout").fetchone() == ("calm",)


def test_a_migration_that_fails_leaves_the_older_file_intact(path, monkeypatch):
    with Ledger.open(path) as ledger:
        ledger.record(scored())
    with monkeypatch.context() as patched:
        newer = (*ledger_file.MIGRATIONS, ("ALTER TABLE rollout ADD COLUMN mood TEXT", "SELECT nonsense FROM nowhere"))
        patched.setattr(ledger_file, "MIGRATIONS", newer)
        with pytest.raises(LedgerError):
            Ledger.open(path)
    with Ledger.open(path) as ledger:
        assert "mood" not in str(ledger._reader.execute("SELECT sql FROM sqlite_master").fetchall())
        assert ledger.lookup([key()])


@pytest.mark.parametrize("damage", ["garbage", "text", "truncated", "pages", "one-page", "foreign", "no-table"])
def test_a_damaged_ledger_is_refused_by_name_and_never_overwritten(path, damage):
    with Ledger.open(path) as ledger:
        ledger.record(*(scored(number, answer="x" * 50) for number in range(2000)))
    data = bytearray(path.read_bytes())
    match damage:
        case "garbage":
            path.write_bytes(os.urandom(10_000))
        case "text":
            path.write_text("my notes, not a database\n" * 50)
        case "truncated":
            path.write_bytes(data[: len(data) // 2])
        case "one-page":
            middle = len(data) // 4096 // 2 * 4096
            data[middle : middle + 4096] = os.urandom(4096)
            path.write_bytes(data)
        case "pages":
            data[3 * 4096 : 6 * 4096] = os.urandom(3 * 4096)
            path.write_bytes(data)
        case "foreign" | "no-table":
            path.unlink()
            with sqlite3.connect(path) as raw:
                raw.execute("CREATE TABLE diary (day TEXT)")
                if damage == "no-table":
                    raw.execute(f"PRAGMA application_id = {ledger_file.APPLICATION_ID}")
                    raw.execute("PRAGMA user_version = 1")
            raw.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(LedgerError) as refused:
            Ledger.open(path, read_only=read_only)
        assert str(path) in str(refused.value)
    assert path.read_bytes() == before
    assert not is_locked(path), "a refused ledger is not locked"


def test_damage_in_a_large_ledger_is_found_when_its_page_is_read(path, monkeypatch):
    with Ledger.open(path) as ledger:
        ledger.record(*(scored(number) for number in range(2000)))
    data = bytearray(path.read_bytes())
    data[2 * 4096 : -4 * 4096] = os.urandom(len(data) - 6 * 4096)
    path.write_bytes(data)
    monkeypatch.setattr(ledger_file, "FULL_CHECK_LIMIT", 0)
    with pytest.raises(LedgerError, match="damaged"):  # noqa: SIM117
        with Ledger.open(path) as ledger:
            ledger.lookup(key(number) for number in range(2000))


def test_a_ledger_of_zero_bytes_is_a_new_ledger(path):
    path.parent.mkdir()
    path.touch()
    with Ledger.open(path) as ledger:
        ledger.record(scored())
        assert ledger.summary().scored == 1


def test_reading_a_ledger_that_does_not_exist_is_an_error(path):
    with pytest.raises(LedgerError, match=r"no ledger here.*skillsv value"):
        Ledger.open(path, read_only=True)
    assert not path.parent.exists()


def test_a_path_that_cannot_be_written_is_a_ledger_error(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(LedgerError, match="--run-dir"):
        Ledger.open(file / "ledger.sqlite")

    def read_only(*_args, **_kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(LedgerError, match="Read-only file system"):
        Ledger.open(tmp_path / "ledger.sqlite")


def test_a_read_only_database_is_a_ledger_error(path):
    with Ledger.open(path) as ledger:
        ledger._writer.execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match=r"cannot be written.*--run-dir"):
            ledger.record(scored())


FULL_DISK = """
    import resource, sys
    from pathlib import Path
    from skillsv.errors import LedgerError
    from skillsv.model.rollout import Rollout, RolloutKey
    from skillsv.rollout.ledger import Ledger

    ledger = Ledger.open(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    saved = 0
    try:
        for number in range(100_000):
            key = RolloutKey(tree=str(number), task="t", agent="a")
            ledger.record(Rollout(key=key, task_id="t", score=1.0, answer=str(number) * 50))
            saved += 1
    except LedgerError as error:
        print(saved)
        print(error)
"""


def test_a_full_disk_is_an_error_and_saved_rollouts_are_kept(path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL_DISK), str(path)], capture_output=True, text=True, check=True
    )
    saved, sentence = done.stdout.splitlines()
    assert int(saved) > 10
    assert str(path) in sentence
    assert "disk" in sentence
    assert "run the same command again" in sentence
    with Ledger.open(path) as ledger:
        assert ledger.summary().scored == int(saved)
        ledger.record(scored())


def test_a_copy_without_its_log_opens_in_a_read_only_folder(path, tmp_path, monkeypatch):
    with Ledger.open(path) as ledger:
        ledger.record(scored())
    copy = tmp_path / "copy.sqlite"
    shutil.copy(path, copy)
    opened = []
    connect = ledger_file._connect_reading

    class Refusing:
        def execute(self, *_):
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error

        def close(self):
            opened.append("closed")

    def refuse_shared_memory(place, how):
        opened.append(how)
        return Refusing() if how == "mode=ro" else connect(place, how)

    monkeypatch.setattr(ledger_file, "_connect_reading", refuse_shared_memory)
    with Ledger.open(copy, read_only=True) as ledger:
        assert ledger.summary().scored == 1
    assert opened == ["mode=ro", "closed", "mode=ro&immutable=1"]


FULL = sqlite3.OperationalError("database or disk is full")


def with_code(text, code):
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "free"),
    [
        (FULL, 10**9),
        (with_code("database or disk is full", sqlite3.SQLITE_FULL), 10**9),
        (with_code("disk I/O error", sqlite3.SQLITE_IOERR_WRITE), 0),
        (with_code("unable to open database file", sqlite3.SQLITE_CANTOPEN), 4096),
        (OSError(errno.ENOSPC, "No space left on device"), 10**9),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 10**9),
    ],
)
def test_every_error_of_a_full_disk_is_the_sentence_of_the_ledger(path, monkeypatch, error, free):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with (
        pytest.raises(LedgerError, match=r"the disk is full\. Free some space .* it resumes"),
        explain_ledger_errors(path),
    ):
        raise error


def test_other_errors_keep_their_own_sentence_on_a_disk_with_room(path):
    with pytest.raises(LedgerError, match="refused to read or write"), explain_ledger_errors(path):
        raise with_code("disk I/O error", sqlite3.SQLITE_IOERR)
    with pytest.raises(LedgerError, match="damaged"), explain_ledger_errors(path):
        raise sqlite3.DatabaseError("file is not a database")


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "INSERT", "COMMIT"])
def test_a_disk_that_fills_up_in_a_transaction_is_one_sentence_and_the_ledger_goes_on(path, statement):
    class Filling:
        def __init__(self, connection):
            self.connection, self.full = connection, True

        def __getattr__(self, name):
            return getattr(self.connection, name)

        def execute(self, sql, *arguments):
            if self.full and sql.strip().startswith(statement):
                self.full = False
                raise with_code("database or disk is full", sqlite3.SQLITE_FULL)
            return self.connection.execute(sql, *arguments)

    with Ledger.open(path) as ledger:
        ledger._writer = Filling(ledger._writer)
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.record(scored())
        assert ledger.summary().scored == 0
        ledger.record(scored())
        assert ledger.summary().scored == 1


@pytest.mark.parametrize("size", [0, None])
def test_a_ledger_without_tables_reads_as_empty_and_can_be_written(path, size):
    """A disk that was full when the ledger was made leaves such a file; the same command must resume."""
    path.parent.mkdir()
    if size is None:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    else:
        path.touch()
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.summary().scored == 0
        assert ledger.lookup([key()]) == {}
    with Ledger.open(path) as ledger:
        ledger.record(scored())
        assert ledger.summary().scored == 1


def test_rollouts_of_earlier_sessions_are_counted_once_as_reused(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(0), scored(1), failed(2))
        ledger.lookup([key(0)])
        assert ledger.reused[key(0).agent].rollouts == 0
    with Ledger.open(path) as ledger:
        ledger.record(scored(2), scored(3))
        ledger.lookup([key(0), key(2), key(3)])
        ledger.lookup([key(0), key(9)])
        assert ledger.reused[key(0).agent].rollouts == 1
        assert ledger.reused[key(0).agent].since is not None


def test_copied_rollouts_have_the_new_key_and_the_old_ones_stay(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(0, answer="yes"), scored(1, score=1.0), failed(2))
        assert ledger.copy_rollouts({("task", "agent/1"): ("task", "agent/2")}) == 2
        assert ledger.copy_rollouts({("task", "agent/1"): ("task", "agent/2")}) == 0
        new = key(0, agent="agent/2")
        assert ledger.lookup([key(0), new])[new].score == 0.5
        assert ledger.detail(new).answer == "yes"
        assert ledger.reused[new.agent].taken_over == 1
        assert [(group.agent, group.rollouts) for group in ledger.groups()] == [("agent/1", 2), ("agent/2", 2)]


def test_dropped_copies_leave_the_rollouts_that_they_copy(path):
    with Ledger.open(path) as ledger:
        ledger.record(scored(0, answer="yes"), Rollout(key=key(5, agent="agent/2"), task_id="t", score=1.0))
        ledger.copy_rollouts({("task", "agent/1"): ("task", "agent/2")})
        ledger.drop_copies("agent/2")
        assert [(group.agent, group.rollouts) for group in ledger.groups()] == [("agent/1", 1), ("agent/2", 1)]
        assert ledger.detail(key(0)).answer == "yes"
        assert ledger.detail(key(0, agent="agent/2")) is None


def test_the_group_that_was_saved_last_is_copied_where_several_match(path):
    with Ledger.open(path) as ledger:
        for agent, score in (("agent/1", 0.0), ("agent/2", 1.0)):
            ledger.record(Rollout(key=key(agent=agent), task_id="t", score=score))
        keys = {(group.task, group.agent): ("task", "agent/3") for group in ledger.groups()}
        assert ledger.copy_rollouts(keys) == 1
        assert ledger.lookup([key(agent="agent/3")])[key(agent="agent/3")].score == 1.0


def test_a_ledger_of_the_first_schema_can_be_read_without_times(path, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(ledger_file, "MIGRATIONS", ledger_file.MIGRATIONS[:1])
        ledger_file.take_lock(path)
        ledger_file.open_writer(path).close()
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.lookup([key()]) == {}
        assert ledger.groups() == []
