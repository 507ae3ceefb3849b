import json

import pytest

from skillsv.cli import run
from skillsv.cli.demo import example_folder

EVALS = example_folder() / "evals"
AGENT = f"python:{EVALS}/agent.py:answer"


def planned(capsys, *flags):
    capsys.readouterr()
    assert run(["plan", str(example_folder()), "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def test_algorithm_one_costs_what_the_paper_says(capsys):
    plan = planned(capsys, "--method", "chain", "-k", "10", "-b", "8", "--tolerance", "off")
    units = plan["units"]
    assert plan["expected"]["rollouts"] == 10 * 8 * (4 + 2 * (units - 2))
    assert plan["expected"]["usd"] is None  # unknown is unknown, not free


def test_the_adaptive_method_costs_its_budget(capsys):
    assert planned(capsys, "--max-rollouts", "700")["high"]["rollouts"] == 700


def test_a_probe_measures_and_its_rollouts_are_not_paid_again(capsys, tmp_path):
    folder = str(tmp_path / "run")
    tasks = str(EVALS / "tasks.jsonl")
    plan = planned(capsys, "--tasks", tasks, "--agent", AGENT, "--probe", "--run-dir", folder)
    assert plan["expected"]["seconds"] > 0
    assert not (tmp_path / "run" / "manifest.json").exists()  # a probe is not a run
    again = ["value", str(example_folder()), "--tasks", tasks, "--agent", AGENT, "--run-dir", folder]
    capsys.readouterr()
    assert run([*again, "--method", "chain", "-k", "2", "--yes", "--json", "--quiet"]) == 0
    first = json.loads(capsys.readouterr().out)["rollouts"]
    assert run([*again, "--method", "chain", "-k", "2", "--yes", "--json", "--quiet", "--fresh"]) == 0
    fresh = json.loads(capsys.readouterr().out)["rollouts"]
    assert fresh["spent"] - first["spent"] == 4


@pytest.mark.parametrize("flags", [["--probe"], ["--probe", "--agent", AGENT]])
def test_a_probe_without_tasks_or_agent_is_refused(flags, capsys):
    assert run(["plan", str(example_folder()), *flags]) == 2
    assert "--tasks" in capsys.readouterr().err
