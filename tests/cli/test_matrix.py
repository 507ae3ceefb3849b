"""`skillsv matrix`: table, JSON, CSV, page, agents from a file of settings."""

import csv
import json
import shlex

import msgspec
import pytest

from skillsv.cli import run
from skillsv.errors import OutputError
from skillsv.model.matrix_document import MatrixDocument
from skillsv.report.matrix_text import CSV_MARK

SKILL = "---\nname: letters\ndescription: Knows letters.\n---\n# Letters\n\n- alpha\n- beta\n- gamma\n"

AGENT = """\
def small(skill, task):
    return "yes" if skill and task.input in skill.text else "no"

def large(skill, task):
    if task.input == "gamma":
        return "no" if skill and "gamma" in skill.text else "yes"
    return small(skill, task)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    tasks = [{"id": f"t{n:02d}", "input": ["alpha", "beta", "gamma"][n % 3], "target": "yes"} for n in range(18)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


AGENTS = "python:agent.py:small,python:agent.py:large"
WORDS = ["matrix", "letters", "--tasks", "tasks.jsonl", "--panel-b", "0", "--max-rollouts", "800", "-q"]
FEW = ["100" if word == "800" else word for word in WORDS]


@pytest.mark.heavy
def test_the_json_fits_its_schema_and_finds_the_disagreement(place, capsys, validate):
    assert run([*WORDS, "--agents", AGENTS, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    msgspec.convert(document, MatrixDocument)
    validate(document)
    assert [agent["name"] for agent in document["agents"]] == AGENTS.split(",")
    assert [unit["pattern"] for unit in document["units"]] == ["helps all", "helps all", "disagree"]
    assert all(unit["differ"] == unit["disagree"] for unit in document["units"])
    assert json.loads((place / ".skillsv" / "letters" / "matrix.json").read_text()) == document


@pytest.mark.heavy
def test_agents_at_once_from_a_flag_or_a_file_have_the_same_values(place, capsys):
    assert run([*WORDS, "--agents", AGENTS, "--at-once", "--json", "--run-dir", "one"]) == 0
    by_flag = json.loads(capsys.readouterr().out)
    (place / "skillsv.toml").write_text("at-once = true\n")
    words = [word for word in WORDS if word != "-q"]
    assert run([*words, "--agents", AGENTS, "--json", "--run-dir", "two"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["units"] == by_flag["units"]
    assert "2 agents on the same 18 tasks, at the same time; they share the budget" in shown.err


@pytest.mark.heavy
def test_the_table_names_each_agent_and_the_page(place, capsys):
    assert run([*WORDS, "--agents", AGENTS, "--csv", "units.csv", "-o", "shorter", "--max-drop", "40"]) == 0
    shown = capsys.readouterr()
    assert "disagree *" in shown.out
    assert "Page: .skillsv/letters/matrix.html" in shown.out
    assert "skillsv confirm .skillsv/letters/matrix-runs/" in shown.err
    rows = list(csv.DictReader((place / "units.csv").read_text().splitlines()))
    assert [row["shows"] for row in rows] == ["helps all", "helps all", "disagree"]
    assert (place / ".skillsv" / "letters" / "matrix.html").read_text().startswith("<!doctype html>")
    assert (place / "shorter" / "SKILL.md").exists()


def test_the_forecast_of_all_agents_comes_before_spending(place, capsys):
    assert run([*WORDS[:4], "--agents", AGENTS]) == 2
    shown = capsys.readouterr().err
    assert "2 agents on the same 9 tasks" in shown
    assert "nobody is there to agree" in shown
    assert not (place / ".skillsv").exists()


@pytest.mark.heavy
def test_a_file_beside_the_skill_lists_agents_only_if_trusted(place, capsys):
    (place / "skillsv.toml").write_text('agents = ["python:agent.py:small", "python:agent.py:large"]\n')
    assert run(WORDS) == 2
    assert "--agents may not be set by a file" in capsys.readouterr().err
    assert run(["trust", "skillsv.toml", "--yes"]) == 0
    assert run([*WORDS, "--json"]) == 0
    out = capsys.readouterr().out
    document = json.loads(out[out.index("{") :])
    assert len(document["agents"]) == 2


@pytest.mark.heavy
def test_the_run_of_one_agent_can_be_shortened_and_reported(place, capsys):
    assert run([*WORDS, "--agents", AGENTS]) == 0
    large = next((place / ".skillsv" / "letters" / "matrix-runs").glob("*large*"))
    capsys.readouterr()
    assert run(["status", str(large)]) == 0
    assert run(["estimate", str(large), "--json"]) == 0
    assert run(["report", str(large)]) == 0


@pytest.mark.heavy
def test_the_shorter_skill_is_proved_for_each_agent_by_confirm(place, capsys):
    words = [word for word in WORDS if word not in {"--panel-b", "0"}]
    assert run([*words, "--agents", AGENTS, "--max-drop", "60", "-o", "shorter"]) == 0
    commands = [line.partition(": skillsv ")[2] for line in capsys.readouterr().err.splitlines() if "Prove it" in line]
    assert len(commands) == 2
    for command in commands:
        assert run([*shlex.split(command.replace("--max-drop 60", "--max-drop 99")), "--yes", "--json"]) == 0
        proof = json.loads(capsys.readouterr().out)
        assert proof["tasks"] == 9


@pytest.mark.parametrize("target", [["-o", "shorter"], ["--csv", "missing/units.csv"], ["--csv", "letters/units.csv"]])
def test_a_target_that_cannot_be_written_is_refused_before_spending(place, capsys, target):
    (place / "shorter").mkdir()
    (place / "shorter" / "SKILL.md").write_text("mine")
    assert run([*WORDS, "--agents", AGENTS, *target]) == 2
    assert target[1].partition("/")[0] in capsys.readouterr().err
    assert not (place / ".skillsv").exists()


def test_the_same_command_again_with_an_output_names_force(place, capsys):
    words = [*FEW, "--agents", AGENTS, "-o", "shorter"]
    assert run(words) == 4
    capsys.readouterr()
    written = (place / ".skillsv" / "letters" / "matrix.json").stat().st_mtime_ns
    assert run(words) == 2
    assert "Replace it with --force." in capsys.readouterr().err
    assert (place / ".skillsv" / "letters" / "matrix.json").stat().st_mtime_ns == written
    assert run([*words, "--force"]) == 4


def test_the_csv_replaces_an_earlier_one_and_no_other_file_without_force(place, capsys):
    (place / "notes.csv").write_text("mine\n")
    words = [*FEW, "--agents", AGENTS, "--csv", "notes.csv"]
    assert run(words) == 2
    assert "replace this one with --force" in capsys.readouterr().err
    assert (place / "notes.csv").read_text() == "mine\n"
    assert not (place / ".skillsv").exists()
    assert run([*words, "--force"]) == 4
    assert (place / "notes.csv").read_text().startswith(CSV_MARK)
    assert run(words) == 4


def test_the_printed_proofs_rule_out_the_loss_of_the_matrix(place, capsys):
    assert run([*FEW, "--agents", AGENTS, "-o", "my shorter", "--max-drop", "2.5"]) == 4
    proofs = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Prove it")]
    assert len(proofs) == 2
    assert all(line.endswith("--skill 'my shorter' --max-drop 2.5") for line in proofs)


def test_the_result_is_printed_before_a_file_that_cannot_be_written(place, capsys, monkeypatch):
    def refuse(*_args, **_options):
        raise OutputError("This exists already.", where="shorter")

    monkeypatch.setattr("skillsv.api.matrix.Matrix.write", refuse)
    words = [*FEW, "--agents", AGENTS, "-o", "shorter", "--csv", "units.csv", "--json"]
    assert run(words) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["schema"] == "skillsv.matrix/1"
    assert "keeps the result" in shown.err
    assert (place / "units.csv").exists()
