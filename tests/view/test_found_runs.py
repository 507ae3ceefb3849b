"""Which runs are found, and what the page says of their progress."""

import pytest

from skillsv.rollout.ledger_file import take_lock
from skillsv.view.found_runs import RATE_SECONDS, FoundRuns

from .conftest import make_run
from .test_ledger_totals import add_rollouts


@pytest.mark.heavy
def test_a_run_is_running_while_its_ledger_is_locked_and_has_a_rate(tmp_path):
    import os

    from skillsv.rollout import RunFolder

    make_run(tmp_path / "runs" / "one")
    folder, now = RunFolder(tmp_path / "runs" / "one"), [0.0]
    found = FoundRuns(tmp_path / "runs", clock=lambda: now[0])

    def look(seconds):
        now[0] += seconds
        found.update()
        return next(iter(found.runs.values()))

    assert look(0).state == "finished"
    folder.keep_notes((), provisional=True)
    assert look(1).state == "stopped"
    lock = take_lock(folder.ledger)
    try:
        first = look(1)
        assert (first.state, first.rate) == ("running", None)
        add_rollouts(folder, 60, first=5_000)
        assert look(RATE_SECONDS).rate == 60 * 60 / RATE_SECONDS
    finally:
        os.close(lock)
    assert look(1).state == "stopped"


@pytest.mark.heavy
def test_runs_of_earlier_settings_and_of_a_matrix_are_listed_and_copies_of_skills_are_not(tmp_path):
    make_run(tmp_path / "runs" / "one")
    (tmp_path / "runs" / "one" / "earlier" / "old").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "matrix-runs" / "a").mkdir(parents=True)
    manifest = (tmp_path / "runs" / "one" / "manifest.json").read_bytes()
    for place in ("earlier/old", "matrix-runs/a", "skill"):
        (tmp_path / "runs" / "one" / place / "manifest.json").write_bytes(manifest)
    found = FoundRuns(tmp_path / "runs")
    found.update()
    assert sorted(run.path for run in found.runs.values()) == ["one", "one/earlier/old", "one/matrix-runs/a"]


@pytest.mark.heavy
def test_trials_and_proof_of_a_shrink_are_running_and_their_spending_is_shown(tmp_path):
    import os

    from skillsv.rollout import RunFolder

    make_run(tmp_path / "runs" / "one")
    folder = RunFolder(tmp_path / "runs" / "one")
    found = FoundRuns(tmp_path / "runs", clock=lambda: 0.0)

    def look():
        found.update()
        return next(iter(found.runs.values()))

    values = look()
    assert values.state == "finished"
    lock = take_lock(folder.ledger)
    try:
        assert look().state == "running", "the values are complete, and the trials begin"
        add_rollouts(folder, 60, first=5_000, command="-shrink")
        proof = look()
        assert (proof.state, proof.scored) == ("running", values.scored + 60)
        assert (proof.forecast, proof.left) == (0, None), "the forecast of the values says nothing about the proof"
    finally:
        os.close(lock)
    assert (look().state, look().scored) == ("finished", values.scored + 60)
