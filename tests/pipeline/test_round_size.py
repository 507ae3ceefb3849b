"""A run records its round size: resumed with other jobs it asks for the same rollouts."""

import json

import pytest

from skillsv.cli import run
from skillsv.rollout import RunFolder

SKILL = "---\nname: colours\ndescription: Colours.\n---\n\n" + "".join(f"- colour {n}\n\n" for n in range(6))
AGENT = "def answer(skill, task):\n    return task.input if skill and task.input in skill.text else '?'\n"


@pytest.fixture
def value(tmp_path, monkeypatch, capsys):
    """Runs `skillsv value` in a folder and returns the observations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    rows = [{"id": f"t{n}", "input": f"colour {n % 6}", "target": f"colour {n % 6}"} for n in range(16)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def value(folder, jobs, rollouts):
        flags = ["--method", "auto", "--operators", "delete", "--panel-b", "0", "-j", str(jobs), "--yes", "--quiet"]
        flags += ["--max-rollouts", str(rollouts), "--run-dir", str(tmp_path / folder), "--json"]
        code = run(["value", "SKILL.md", "--tasks", "tasks.jsonl", "--agent", "python:agent.py:answer", *flags])
        capsys.readouterr()
        assert code in {0, 3, 4, 5}
        return RunFolder(tmp_path / folder)

    return value


@pytest.mark.heavy
def test_a_resumed_run_keeps_its_rounds_with_other_jobs(value):
    folder = value("resumed", 40, 200)
    assert folder.round_size == 80
    small = folder.observations()
    folder = value("resumed", 2, 300)
    assert (folder.round_size, folder.live_searches) == (80, 10)
    whole = value("whole", 40, 300)
    assert folder.observations() == whole.observations()
    assert folder.observations()[: len(small)] == small
    assert value("narrow", 2, 300).observations() != whole.observations()


@pytest.mark.heavy
@pytest.mark.parametrize("missing", [("round_size", "live_searches"), ("live_searches",)])
def test_a_run_of_an_earlier_version_resumes_with_what_it_recorded(value, missing):
    folder = value("earlier", 2, 200)
    manifest = json.loads((folder.path / "manifest.json").read_text())
    recorded = {"round_size": 24, "live_searches": 8} | dict.fromkeys(missing)
    for name in missing:
        del manifest["about"][name]
    (folder.path / "manifest.json").write_text(json.dumps(manifest))
    folder = value("earlier", 40, 210)
    assert {"round_size": folder.round_size, "live_searches": folder.live_searches} == recorded


@pytest.mark.heavy
def test_a_small_budget_records_no_searches_and_keeps_that_with_a_larger_one(value):
    assert value("small", 2, 150).live_searches is None
    assert value("small", 2, 250).live_searches is None
