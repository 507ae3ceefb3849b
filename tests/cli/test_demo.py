"""The demo finds the known roles of the rules in the example skill."""

import json
import re
import subprocess
import sys

import pytest

from skillsv.cli import run
from skillsv.cli.demo import NEXT_COMMAND, example_folder
from skillsv.tasks import load_tasks, split_panels

SCHEMA_KEYS = {
    "schema", "skill", "settings", "anchors", "trigger_value", "content_lift", "closure", "units", "sections",
    "rollouts", "usage", "notes",
}  # fmt: skip
UNIT_KEYS = {
    "id", "kind", "file", "span", "lines", "section", "tokens", "needs", "content", "cost", "net", "samples", "verdict",
}  # fmt: skip


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "skillsv", "demo", "--json", "--quiet", "--operators", "delete"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def share_of(stratum):
    """The share of panel A's tickets that only this pair of rules can solve."""
    tasks = load_tasks(example_folder() / "evals" / "tasks.jsonl")
    panel, _ = split_panels(tasks, a=None, b=0.5, seed=42)
    return sum(task.stratum == stratum for task in panel.tasks) / len(panel.tasks)


def net(answer, words):
    (unit,) = [unit for unit in answer["units"] if words in unit["text"]]
    return unit


def test_the_json_has_the_documented_fields(answer, validate):
    validate(answer)
    assert answer["schema"] == "skillsv.valuation/1"
    assert set(answer) >= SCHEMA_KEYS
    assert all(set(unit) >= UNIT_KEYS for unit in answer["units"])
    assert set(answer["closure"]) >= {"sum", "lift", "ratio", "covered"}
    assert set(answer["rollouts"]) == {"spent", "reused", "failed", "cut", "forecast"}


def test_the_redundant_pair_shares_its_value(answer):
    first, second = net(answer, "- A ticket that mentions `parcel`"), net(answer, "Check once more")
    assert first["net"]["low"] > 0
    assert second["net"]["low"] > 0
    together = first["net"]["value"] + second["net"]["value"]
    assert together == pytest.approx(share_of("delivery"), abs=0.02)
    assert first["net"]["value"] == pytest.approx(second["net"]["value"], abs=0.03)


def test_the_complementary_pair_has_positive_value(answer):
    code, queue = net(answer, "`RMA-1234` is a return code"), net(answer, "with a return code goes")
    assert code["net"]["low"] > 0
    assert queue["net"]["low"] > 0
    assert code["net"]["value"] + queue["net"]["value"] == pytest.approx(share_of("returns"), abs=0.02)


def test_the_harmful_rule_is_negative(answer):
    assert net(answer, "`urgent`")["net"]["high"] < 0
    assert net(answer, "`urgent`")["verdict"] == "harmful"


def test_the_interval_of_the_unused_rule_covers_zero(answer):
    dead = net(answer, "`fax`")
    assert dead["net"]["low"] <= 0 <= dead["net"]["high"]
    assert dead["verdict"] in {"delete", "expendable", "idle", "unresolved"}


def test_values_add_up_to_the_lift(answer):
    assert answer["closure"]["covered"]
    assert answer["closure"]["ratio"] == pytest.approx(1, abs=0.1)


def test_the_tasks_are_what_their_generator_writes(request):
    maker = example_folder() / "evals" / "make_tasks.py"
    made = subprocess.run([sys.executable, str(maker)], capture_output=True, text=True, check=True)
    assert made.stdout == (maker.parent / "tasks.jsonl").read_text()


def test_without_a_limit_or_a_terminal_nothing_is_spent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    skill = example_folder()
    code = run(["value", str(skill), "--tasks", str(skill / "evals/tasks.jsonl"), "--agent", "planted:rules"])
    assert code == 2
    assert "--yes" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.heavy
def test_the_demo_ends_with_a_shorter_skill_its_diff_and_the_proof(tmp_path, capsys):
    flags = ["--operators", "delete", "--max-rollouts", "2400"]
    assert run(["demo", "--quiet", "--run-dir", str(tmp_path / "run"), *flags]) == 0
    printed = capsys.readouterr().out
    assert "-- Anything that mentions `urgent` goes to queue `legal`" in printed
    assert printed.rstrip().endswith(NEXT_COMMAND)
    line = next(line for line in printed.splitlines() if line.startswith("Confirmed on 72 held-out tasks: better"))
    assert re.search(r"change \+\d+\.\d \[[+−]?\d+\.\d, \+\d+\.\d\] points, with \d+% of the tokens", line)
    assert printed.index("Report: ") < printed.index(line)
    short = (tmp_path / "run/shorter/SKILL.md").read_text()
    assert "urgent" not in short
    assert "parcel" in short
