"""`skillsv bench paper` as a user runs it: on planted games alone, on invented questions, and on real ones."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from skillsv.cli.app import run
from skillsv_bench.cli.paper_runs import RunRequest, plan_run, run_all
from skillsv_bench.cli.protocol_flags import ProtocolFlags
from skillsv_bench.paper.artifacts import ArtifactSet
from skillsv_bench.paper.sources import find_data

SKILL = """---
name: knots
description: Answers questions about knots.
---

# Knots

<!-- SLOW_UPDATE_START -->
- Say alpha when the question is even.
- Say beta when the question is odd.
<!-- SLOW_UPDATE_END -->

- Hum a tune.
"""
AGENT = """
def answer(skill, task, replicate):
    number = int(task.id.partition(":")[2])
    word = "alpha" if number % 2 == 0 else "beta"
    label = next(choice["label"] for choice in task.metadata["choices"] if "right" in choice["text"])
    return f"<answer>{label}</answer>" if skill and word in skill.text else "I do not know."
"""
WITH_AGENT = ("--data", "data", "--agent", "python:agent.py:answer", "-o", "out", "--quiet")
SHARED = Path(__file__).resolve().parents[2] / "../shared"


@pytest.fixture
def place(tmp_path, monkeypatch):
    file = tmp_path / "data" / "livemath" / "209901" / "qa_209901_final.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([question(number) for number in range(1, 25)]))
    skill = tmp_path / "data" / "skills" / "livemath"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_planted(monkeypatch):
    """Planted games are played once, in a test of their own: they take seconds."""
    monkeypatch.setattr("skillsv_bench.paper.planted_artifacts.planted_artifacts", lambda _options: ArtifactSet())


def question(number):
    wrong = [{"label": label, "text": f"It is {label}{number}."} for label in "BCD"]
    right = {"label": "A", "text": f"It is right, {number}."}
    mcq = {"question": f"What is knot {number}?", "correct_choice": right, "choices": wrong}
    return {"no": number, "month": "209901", "theorem": "hidden", "mcq": mcq}


def paper(*words, code=0):
    assert run(["bench", "paper", *words]) == code


@pytest.mark.heavy
def test_without_data_the_planted_games_are_written_and_the_rest_is_listed(place, capsys):
    paper("-o", "out", "--games", "2")
    said = capsys.readouterr()
    assert "Planted games cost nothing." in said.err
    names = {path.name for path in Path("out").iterdir()}
    for name in ("figure-4-mechanism", "figure-5-planted-pooled", "figure-10-variance"):
        assert {f"{name}.csv", f"{name}.md", f"{name}.svg"} <= names
    assert {"table-5-rules.csv", "table-5-rule-ablation.csv", "appendix-truncation.csv", "index.md"} <= names
    for title in ("LiveMath", "OfficeQA", "SpreadsheetBench", "ALFWorld"):
        assert any(line.startswith("- Tables 1 and 2") and title in line for line in said.out.splitlines())
    index = Path("out/index.md").read_text()
    assert "skillsv bench livemath --data DATA/livemath" in index
    assert "--study pruning" in index
    rows = list(csv.DictReader(Path("out/figure-4-mechanism.csv").read_text().splitlines()))
    assert [float(row["true (points)"]) for row in rows] == [12.5, 12.5, 12.5, 12.5, 25.0, -25.0, 0.0]


def test_an_agent_is_not_run_without_consent(place, capsys, no_planted):
    paper(*WITH_AGENT, code=2)
    said = capsys.readouterr().err
    assert "LiveMath: 3 units besides the trigger." in said
    assert "nobody is there to agree" in said
    assert not Path("out").exists()


def test_a_plan_says_the_cost_and_writes_nothing(place, capsys, no_planted):
    paper(*WITH_AGENT, "--plan")
    said = capsys.readouterr().out
    assert "Planted games cost nothing." in said
    assert "Together" in said
    assert not Path("out").exists()


@pytest.mark.heavy
def test_a_benchmark_is_run_with_split_regions_and_its_results_are_used_again(place, capsys, no_planted):
    paper(*WITH_AGENT, "--yes", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "skillsv.bench.paper/1"
    assert set(answer["files"]) == {path.name for path in Path("out").iterdir() if path.is_file()}
    results = json.loads(Path("out/runs/livemath/results/results.json").read_text())
    assert results["settings"]["regions"] == "split"
    assert results["skill"]["execution_units"] == 3
    assert any("regions of an optimizer are split" in note for note in answer["notes"])
    (anchors,) = csv.DictReader(Path("out/table-1-anchors.csv").read_text().splitlines())
    assert float(anchors["V(N) (points)"]) == 100.0
    names = set(answer["files"])
    assert {"table-2-closure.csv", "figure-5-areas.svg", "figure-6-pruning-livemath.svg"} <= names
    assert {"figure-7-units-livemath.svg", "figure-8-agreement.svg", "figure-11-value-tree-livemath.svg"} <= names
    assert not any(gap["title"] == "LiveMath" and "Tables 1" in gap["place"] for gap in answer["missing"])
    assert any(gap["place"] == "Table 3" for gap in answer["missing"])
    first = {path.name: path.read_bytes() for path in Path("out").glob("*.csv")}
    paper("--data", "data", "-o", "out", "--json")  # no agent: the stored results are read
    assert {path.name: path.read_bytes() for path in Path("out").glob("*.csv")} == first


def test_untruncated_chains_of_a_run_give_the_truncation_control(place, capsys, no_planted):
    paper(*WITH_AGENT, "--yes", "--tolerance", "off", "-k", "6")
    rows = list(csv.DictReader(Path("out/appendix-truncation-livemath.csv").read_text().splitlines()))
    assert [float(row["tolerance"]) for row in rows] == [0.0, 0.05, 0.1, 0.15, 0.25]
    assert all(row["chains"] == "6" and row["true_omitted (points)"] == "" for row in rows)
    assert all(abs(float(row["omitted (points)"])) <= 100 * float(row["tolerance"]) + 1e-9 for row in rows)
    gap = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("- Appendix, calibrating"))
    assert "LiveMath" not in gap
    assert "ALFWorld" in gap


def test_a_limit_ends_the_run_and_what_is_possible_is_still_written(place, capsys, no_planted):
    paper(*WITH_AGENT, "--max-rollouts", "30", code=4)
    assert Path("out/index.md").exists()
    assert "the run did not end" in Path("out/index.md").read_text()
    assert {"table-6-datasets.csv", "table-7-panels.csv"} <= {path.name for path in Path("out").iterdir()}


def test_a_limit_holds_for_all_benchmarks_together(place, capsys):
    data = find_data(Path("data"), split="test", splits=None)["livemath"]
    planned = [
        plan_run(
            data,
            Path("data/skills/livemath"),
            RunRequest(
                agent="python:agent.py:answer",
                steps=ProtocolFlags(),
                settings={"max_rollouts": 40},
                runs=Path(folder),
            ),
        )
        for folder in ("one", "other")
    ]
    errors, code = run_all(planned, yes=False, quiet=True)
    assert code == 4
    assert "before this benchmark began" in errors["livemath"]
    assert Path("one/livemath/ledger.sqlite").exists()
    assert not Path("other/livemath").exists()


@pytest.mark.heavy
def test_a_result_in_the_data_folder_is_not_run_again(place, capsys, no_planted):
    paper(*WITH_AGENT, "--yes")
    shutil.copytree("out/runs/livemath/results", "data/livemath-result")
    shutil.rmtree("out")
    capsys.readouterr()
    paper(*WITH_AGENT)
    assert "No benchmark is run, so nothing is spent." in capsys.readouterr().err
    assert Path("out/table-1-anchors.csv").exists()
    assert not Path("out/runs").exists()


@pytest.mark.heavy
def test_results_of_two_benchmarks_are_pooled(place, capsys, no_planted):
    paper(*WITH_AGENT, "--yes")
    results = json.loads(Path("out/runs/livemath/results/results.json").read_text())
    other = Path("data/other")
    other.mkdir()
    (other / "results.json").write_text(json.dumps({**results, "benchmark": "alfworld", "title": "ALFWorld"}))
    capsys.readouterr()
    paper("--data", "data", "-o", "out", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert {"figure-5-pooled.csv", "figure-5-pooled.svg"} <= set(answer["files"])
    assert not any("pooled" in gap["title"] for gap in answer["missing"])
    rows = list(csv.DictReader(Path("out/table-1-anchors.csv").read_text().splitlines()))
    assert [row["benchmark"] for row in rows] == ["LiveMath", "ALFWorld"]
    assert "figure-11-value-tree-alfworld.svg" not in answer["files"]  # no drawing lies beside this result
    assert "The drawing sections.svg is not beside the results" in Path("out/index.md").read_text()


@pytest.mark.parametrize("words", [("--data", "nowhere"), ("--games", "1"), ("--checkpoints", "0")])
def test_bad_input_gives_one_sentence(place, capsys, words):
    paper("-o", "out", *words, code=2)
    said = capsys.readouterr()
    assert said.err.strip()
    assert "Traceback" not in said.err
    assert not said.out


@pytest.mark.heavy
def test_the_published_questions_give_the_tables_of_livemath(tmp_path, monkeypatch, capsys, no_planted):
    skill = SHARED / "corpus/optimized/microsoft__SkillOpt__ckpt-livemath-gpt5.5"
    if not (SHARED / "benchmarks/livemath").is_dir() or not skill.is_dir():
        pytest.skip("the published questions or skills are not in ../shared")
    shutil.copytree(skill, tmp_path / "skills" / "livemath")
    monkeypatch.chdir(tmp_path)
    data = str(SHARED / "benchmarks")
    words = (
        "--data",
        data,
        "--skills",
        "skills",
        "--agent",
        "rules",
        "--split",
        "all",
        "--yes",
        "--quiet",
        "--no-select",
    )
    paper(*words, "-o", "out")
    (closure,) = csv.DictReader(Path("out/table-2-closure.csv").read_text().splitlines())
    assert closure["units"] == "16"  # as in the paper's table
    assert closure["covers"] == "yes"
    datasets = {
        row["benchmark"]: row for row in csv.DictReader(Path("out/table-6-datasets.csv").read_text().splitlines())
    }
    assert (datasets["LiveMath"]["train"], datasets["LiveMath"]["train (paper)"]) == ("35", "35")
