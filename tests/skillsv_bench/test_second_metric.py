"""The second metric is read from the rollouts that were scored, and changes neither their keys nor their scores."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions
from skillsv.cli.app import run
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.registry import find_benchmark
from skillsv_bench.second_metric import LABEL, MeasuringAgent, SecondMetric, read_transcript

CORPUS = Path(__file__).parent / "officeqa" / "corpus"
SKILL = "---\nname: words\ndescription: Answers.\n---\n\n- Say half.\n\n- Hum a tune.\n"
QA_AGENT = """
def answer(skill, task, replicate):
    words = skill.text if skill else ""
    text = f"{task.target} more" if "half" in words else "none"
    return f"<answer>{text}</answer>"
"""
SHEET_AGENT = '''
PROGRAM = """```python
import shutil, openpyxl
shutil.copyfile(INPUT_PATH, OUTPUT_PATH)
book = openpyxl.load_workbook(OUTPUT_PATH)
for row in range(1, {rows} + 1):
    book.active.cell(row, 2).value = row
book.save(OUTPUT_PATH)
```"""

def answer(skill, task, replicate):
    words = skill.text if skill else ""
    return PROGRAM.format(rows=2 if "half" in words else 0)
'''
SMALL = ("-k", "2", "-b", "2", "--checkpoints", "1", "--yes", "--quiet", "--keep-going", "--json")


class Answerer:
    fingerprint = "answerer/1"

    def __init__(self, transcript=None):
        self.transcript = transcript

    async def run(self, skill, task, replicate, workspace):
        return Outcome(answer="yes", transcript=self.transcript)


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "SKILL.md").write_text(SKILL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(transcript):
    agent = MeasuringAgent(Answerer(transcript), lambda _task, _folder: 0.1 + 0.2)
    return anyio.run(lambda: agent.run(None, Task(id="t", input=""), 0, Path()))


@pytest.mark.parametrize("transcript", [None, "", "[user]\nHello."])
def test_a_measurement_ends_the_transcript_and_is_read_from_it(transcript):
    outcome = measured(transcript)
    assert outcome.answer == "yes"
    assert outcome.transcript.startswith(transcript or "")
    assert read_transcript(outcome.transcript) == 0.1 + 0.2


@pytest.mark.parametrize("transcript", [None, "", "0.5", f"{LABEL}\n0.5\nmore", f"{LABEL}\nhalf"])
def test_a_transcript_without_a_measurement_gives_none(transcript):
    assert read_transcript(transcript) is None


def test_an_agent_keeps_its_fingerprint_under_measurement():
    metric = SecondMetric(name="x", title="X", in_workspace=lambda _task, _folder: 1.0)
    assert metric.wrap(Answerer()).fingerprint == "answerer/1"
    plain = Answerer()
    assert SecondMetric(name="x", title="X", of_answer=lambda _task, _answer: 1.0).wrap(plain) is plain


def second_scores(out):
    results = json.loads(out)
    return results, {(row["panel"], row["version"]): row for row in results["second_metric"]["scores"]}


def test_officeqa_reports_f1_of_the_stored_answers(place, capsys, validate):
    (place / "agent.py").write_text(QA_AGENT)
    words = ("officeqa", "--data", str(CORPUS), "--split", "all", "--skill", "words", "--show-target")
    assert run(["bench", *words, "--agent", "python:agent.py:answer", *SMALL, "-o", "out"]) == 0
    results, scores = second_scores(capsys.readouterr().out)
    validate(results)
    assert (results["second_metric"]["name"], results["second_metric"]["title"]) == ("f1", "F1")
    assert all(0.5 < scores[panel, "full"]["second"]["value"] < 1.0 for panel in "ab")
    assert [scores[panel, "empty"]["second"]["value"] for panel in "ab"] == [0.0, 0.0]
    for panel in "ab":
        assert scores[panel, "full"]["tasks"] == results["panels"][panel]
        assert scores[panel, "full"]["score"] == 0.0
    rows = list(csv.DictReader((place / "out" / "second_metrics.csv").open()))
    assert len(rows) == len(scores)
    assert {row["metric"] for row in rows} == {"F1"}
    assert "### Second metrics" in (place / "out" / "tables.md").read_text()


def test_only_a_metric_of_files_is_measured_during_rollouts():
    for name, measured in (("livemath", False), ("officeqa", False), ("spreadsheetbench", True)):
        agent = find_benchmark(name).make_agent("noop", AgentOptions())
        assert isinstance(agent, MeasuringAgent) == measured


@pytest.mark.heavy
def test_spreadsheetbench_reports_the_share_of_right_cells(place, capsys):
    openpyxl = pytest.importorskip("openpyxl", reason="the extra [spreadsheet] is not installed")
    items = []
    for name in range(1, 9):
        folder = place / "sheets" / "spreadsheet" / str(name)
        folder.mkdir(parents=True)
        for which, filled in (("input", 0), ("answer", 4)):
            book = openpyxl.Workbook()
            for row in range(1, 5):
                book.active.cell(row, 1).value = f"{name} {row}"
                if row <= filled:
                    book.active.cell(row, 2).value = row
            book.save(folder / f"1_{name}_{which}.xlsx")
        kind = {"instruction": "Count.", "instruction_type": "Cell-Level Manipulation", "answer_position": "B1:B4"}
        items.append({"id": name, **kind})
    (place / "sheets" / "dataset.json").write_text(json.dumps(items))
    (place / "agent.py").write_text(SHEET_AGENT)
    words = ("spreadsheetbench", "--data", "sheets", "--split", "all", "--skill", "words", "--no-sandbox")
    assert run(["bench", *words, "--agent", "python:agent.py:answer", *SMALL]) == 0
    results, scores = second_scores(capsys.readouterr().out)
    assert results["second_metric"]["title"] == "soft cell pass"
    for panel in "ab":
        assert (scores[panel, "full"]["second"]["value"], scores[panel, "full"]["score"]) == (0.5, 0.0)
        assert scores[panel, "empty"]["second"]["value"] == 0.0
        assert scores[panel, "full"]["tasks"] == results["panels"][panel]
