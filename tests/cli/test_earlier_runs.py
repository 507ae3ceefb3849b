"""Two small runs in one folder: what the agent prints, what `status` lists, and the report of the earlier run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from skillsv import load_run
from skillsv.cli import run
from skillsv.errors import RecordsError

AGENT = """
import threading
print("imported")

def answer(skill, task):
    print("asked for", task.input)
    thread = threading.Thread(target=print, args=("from a thread",))
    thread.start()
    thread.join()
    return skill.text if skill else ""
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder with two runs, and what the second one printed with --json."""
    place = tmp_path_factory.mktemp("runs")
    (place / "skill").mkdir()
    (place / "skill" / "SKILL.md").write_text("---\nname: two\ndescription: x\n---\n\n- red\n- blue\n")
    (place / "agent.py").write_text(AGENT)
    tasks = [{"id": word, "input": word, "target": word, "verifier": "contains"} for word in ("red", "blue")]
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    for seed in ("1", "2"):
        command = [
            *(sys.executable, "-m", "skillsv", "value", "skill", "--tasks", "tasks.jsonl"),
            *("--agent", "python:agent.py:answer", "--run-dir", "run", "--method", "chain", "-k", "1", "-b", "2"),
            *("--operators", "delete", "--panel-b", "0", "--seed", seed, "--yes", "--quiet", "--json"),
        ]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (place / "printed").write_text(done.stdout)
    return place


def test_what_the_agent_prints_is_in_the_log_and_not_in_the_result(place):
    assert json.loads((place / "printed").read_text())["schema"] == "skillsv.valuation/1"
    [earlier] = (place / "run" / "earlier").iterdir()
    log = (earlier / "agent.log").read_text()
    assert log.startswith("== while the files were loaded\nimported\n")
    assert "asked for red\n" in log
    assert "from a thread\n" in log
    assert "== task red, replicate 0, bare agent\n" in log


def test_status_lists_earlier_runs_on_request(place, capsys):
    [earlier] = (place / "run" / "earlier").iterdir()
    assert run(["status", str(place / "run"), "--earlier"]) == 0
    printed = capsys.readouterr().out
    assert f"Earlier run {earlier.name}: " in printed
    assert "python:agent.py:answer, 2 tasks, " in printed
    assert run(["status", str(place / "run"), "--earlier", "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)["earlier"]
    assert (listed["name"], listed["valued"], listed["tasks"]) == (earlier.name, True, 2)
    assert run(["status", str(place / "run"), "--json"]) == 0
    assert "earlier" not in json.loads(capsys.readouterr().out)


def test_status_says_why_rollouts_are_reused_or_not(place, capsys):
    assert run(["status", str(place / "run")]) == 0
    assert "Stored for this agent and these tasks: " in capsys.readouterr().out


def test_an_earlier_run_can_be_reported_and_loaded(place, capsys):
    [earlier] = (place / "run" / "earlier").iterdir()
    assert run(["report", str(place / "run"), "--run", earlier.name, "--format", "json"]) == 0
    old = json.loads(capsys.readouterr().out)
    assert old["settings"]["seed"] == 1
    assert old["rollouts"]["spent"] > 0
    assert load_run(place / "run", run=earlier.name).folder == earlier
    assert load_run(place / "run").stored.settings.seed == 2


def test_an_unknown_run_is_refused_with_the_known_ones(place):
    [earlier] = (place / "run" / "earlier").iterdir()
    with pytest.raises(RecordsError, match=rf"there is no run nothing.*Earlier runs: {earlier.name}"):
        load_run(place / "run", run="nothing")


def test_a_run_folder_of_another_skill_or_inside_the_skill_is_refused(place, capsys):
    (place / "other").mkdir(exist_ok=True)
    (place / "other" / "SKILL.md").write_text("---\nname: other\ndescription: x\n---\n\n- red\n")
    common = ["--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/agent.py:answer", "--yes", "--quiet"]
    assert run(["value", str(place / "other"), *common, "--run-dir", str(place / "run")]) == 2
    assert "the run of another skill, skill, not of other" in capsys.readouterr().err
    assert run(["value", str(place / "other"), *common, "--run-dir", str(place / "other" / "run")]) == 2
    assert "inside the skill" in capsys.readouterr().err
