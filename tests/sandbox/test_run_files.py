"""Which folders hold a run, and which files belong to one."""

import pytest

from skillsv.sandbox.run_files import belongs_to_run, holds_run

LEDGER_HEADER = bytes(68) + b"SKSV"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("manifest.json", b'{"schema": "skillsv.run/1"}', True),
        ("manifest.json", b'{"schema": "another/1"}', False),
        ("manifest.json", b"[1]", False),
        ("manifest.json", b"not JSON", False),
        ("ledger.sqlite", LEDGER_HEADER, True),
        ("ledger.sqlite", bytes(72), False),
        ("ledger.sqlite", b"", False),
        ("ledger.sqlite.lock", b"", True),
        ("records.jsonl", b"{}", False),
    ],
)
def test_run_is_recognised_by_its_manifest_ledger_or_lock(tmp_path, name, data, expected):
    (tmp_path / name).write_bytes(data)
    assert holds_run(tmp_path) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("manifest.json", True), ("records.jsonl", True), ("ledger.sqlite-wal", True), ("report.html", False)],
)
def test_only_files_with_the_names_of_run_files_belong_to_a_run(tmp_path, name, expected):
    assert not belongs_to_run(tmp_path / name)
    (tmp_path / "ledger.sqlite.lock").touch()
    assert belongs_to_run(tmp_path / name) is expected
