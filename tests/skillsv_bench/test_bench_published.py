"""`skillsv bench NAME` as a user runs it, on invented questions in LiveMath's layout with a scripted agent."""

import csv
import json
from pathlib import Path

import pytest

from skillsv.cli.app import run

MONTHS = {"209901": 14, "209902": 12}
SKILL = """---
name: knots
description: Answers questions about knots.
---

# Knots

- Say alpha when the question is even.
- Say beta when the question is odd.
- Hum a tune.
"""
AGENT = """
def answer(skill, task, replicate):
    number = int(task.id.partition(":")[2])
    word = "alpha" if number % 2 == 0 else "beta"
    label = next(choice["label"] for choice in task.metadata["choices"] if "right" in choice["text"])
    return f"<answer>{label}</answer>" if skill and word in skill.text else "I do not know."
"""
EDITOR = """
def shorten(files, instruction):
    return {name: data.replace(b"- Hum a tune.\\n", b"") for name, data in files.items()}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    for month, count in MONTHS.items():
        file = tmp_path / "live" / "data" / month / f"qa_{month}_final.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps([question(month, number) for number in range(1, count + 1)]))
    (tmp_path / "knots").mkdir()
    (tmp_path / "knots" / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "editor.py").write_text(EDITOR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def question(month, number):
    wrong = [{"label": label, "text": f"It is {label}{number}."} for label in "BCD"]
    return {
        "no": number,
        "month": month,
        "theorem": "hidden",
        "mcq": {
            "question": f"What is knot {number} of {month}?",
            "correct_choice": {"label": "A", "text": f"It is right, {number}."},
            "choices": wrong,
        },
    }


def bench(*words, code=0):
    assert run(["bench", *words]) == code


def protocol(*words, code=0):
    bench(
        *("livemath", "--data", "live", "--skill", "knots", "--agent", "python:agent.py:answer", "--yes", "--quiet"),
        *words,
        code=code,
    )


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_a_check_scores_every_task_without_a_model(place, capsys):
    bench("livemath", "--data", "live", "--check", "--json", "--quiet")
    answer = json.loads(capsys.readouterr().out)
    assert answer["reference"] == {
        "passed": 26,
        "of": 26,
        "failed": [],
        "passed_ids": [f"{month}:{number + 1}" for month, count in MONTHS.items() for number in range(count)],
    }
    assert (answer["noop"]["passed"], len(answer["noop"]["failed"])) == (0, 26)
    assert answer["rejected"] == []


def test_a_check_names_what_cannot_be_scored(place, capsys):
    file = place / "live" / "data" / "209901" / "qa_209901_final.json"
    broken = json.loads(file.read_text())
    del broken[2]["mcq"]["correct_choice"]
    file.write_text(json.dumps(broken))
    bench("livemath", "--data", "live", "--check", "--quiet")
    said = capsys.readouterr().out
    assert "passes 25 of 25" in said
    assert "209901:3 cannot be scored" in said


def test_the_protocol_runs_without_rejected_tasks_and_names_them(place, capsys):
    file = place / "live" / "data" / "209901" / "qa_209901_final.json"
    broken = json.loads(file.read_text())
    del broken[2]["mcq"]["correct_choice"]
    file.write_text(json.dumps(broken))
    small = ("-k", "2", "-b", "2", "--panel-a", "4", "--panel-b", "2", "--checkpoints", "1", "--keep-going")
    for more in ((), ("--plan",)):
        protocol(*small, "--json", *more)
        out, err = capsys.readouterr()
        assert [task["id"] for task in json.loads(out)["rejected"]] == ["209901:3"]
        assert "209901:3 cannot be scored: " in err


def test_a_setting_of_algorithm_one_with_auto_is_refused(place, capsys):
    protocol("-k", "2", "--method", "auto", code=2)
    assert "--method auto does not use --orders" in capsys.readouterr().err


@pytest.mark.parametrize("limit", [(), ("--max-seconds", "60")])
def test_a_budget_of_money_is_refused_where_the_cost_is_unknown(place, capsys, limit):
    protocol("--budget-usd", "5", *limit, code=2)
    assert "--budget-usd 5 cannot be measured" in capsys.readouterr().err


@pytest.mark.heavy
def test_the_protocol_closes_and_is_the_same_the_second_time(place, capsys, validate):
    protocol("-k", "48", "--json", "--run-dir", "one")
    first = capsys.readouterr().out
    protocol("-k", "48", "--json", "--run-dir", "other")
    again = capsys.readouterr().out
    protocol("-k", "48", "--json", "--run-dir", "one")  # everything is known already
    resumed = capsys.readouterr().out
    assert first == again == resumed
    assert files("one/results") == files("other/results")
    results = json.loads(first)
    validate(results)
    assert 0.9 <= results["valuation"]["closure"]["ratio"] <= 1.1
    assert results["panels"] == {"a": 12, "b": 14}
    verdicts = [unit["verdict"] for unit in results["valuation"]["units"] if unit["kind"] != "trigger"]
    assert verdicts[:2] == ["keep", "keep"]
    curves = [curve["method"] for curve in results["held_out"]["curves"]]
    assert curves == ["skillsv", "loo", "random", "skillsv-pairs"]
    ranked = {method for pair in results["held_out"]["agreements"] for method in (pair["first"], pair["second"])}
    assert ranked == {"skillsv", "closure-loo", "random"}


@pytest.mark.heavy
def test_the_protocol_writes_the_papers_tables_and_figures(place, capsys, validate):
    protocol("--editor", "python:editor.py:shorten", "-o", "out")
    said = capsys.readouterr().out
    assert "### Value closure" in said
    written = files("out")
    tables = {"anchors.csv", "closure.csv", "pruning.csv", "refinement.csv", "agreement.csv", "units.csv", "tables.md"}
    figures = {"anchors.svg", "values.svg", "sections.svg", "pruning.svg", "areas.svg"}
    assert tables | figures | {"results.json"} <= written.keys()
    assert all(data.startswith(b"<svg") for name, data in written.items() if name.endswith(".svg"))
    header, row = written["refinement.csv"].decode().splitlines()
    shown = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(shown["token share"]) < 1
    assert float(shown["change (points)"]) == 0.0
    assert shown["tasks"] == "14"
    results = json.loads(written["results.json"])
    assert results["refinement"] is not None
    validate(results)
    (anchors,) = csv.DictReader(written["anchors.csv"].decode().splitlines())
    (closure,) = csv.DictReader(written["closure.csv"].decode().splitlines())
    assert int(closure["units"]) == sum(unit["kind"] != "trigger" for unit in results["valuation"]["units"])
    full = results["valuation"]["anchors"]["full"]["value"]
    assert float(anchors["V(N) (points)"]) == pytest.approx(100 * full)
    assert 0 < full <= 1


@pytest.mark.heavy
def test_units_carry_the_values_of_both_baselines(place, capsys):
    (place / "judge.py").write_text("def rate(skill, task, replicate): return '7' if 'tune' in task.input else '90'\n")
    protocol(
        "--judge", "python:judge.py:rate", "--operators", "delete,pad", "--checkpoints", "2", "--json", "-o", "out"
    )
    results = json.loads(capsys.readouterr().out)
    rows = {row["unit"]: row for row in csv.DictReader((place / "out" / "units.csv").open())}
    units = results["valuation"]["units"]
    assert [float(rows[unit["id"]]["judge (0-100)"]) for unit in units if "tune" in unit["text"]] == [7.0]
    left_out = results["closure_loo"]["units"]
    assert sum(value["value"] for value in left_out.values()) == pytest.approx(results["closure_loo"]["sum"]["value"])
    for name, value in left_out.items():
        assert float(rows[name]["Closure-LOO (points)"]) == pytest.approx(100 * value["value"])
    assert all(rows[unit["id"]]["content (points)"] for unit in units)
    assert {"methods.svg", "concentration.svg", "agreement.svg", "concentration.csv"} <= files("out").keys()


@pytest.mark.heavy
def test_regions_can_be_split_and_the_results_record_it(place, capsys):
    text = SKILL.replace("- Say alpha", "<!-- SLOW_UPDATE_START -->\n\n- Say alpha")
    (place / "knots" / "SKILL.md").write_text(text + "\n<!-- SLOW_UPDATE_END -->\n")
    units = {}
    for regions in ("atomic", "split"):
        protocol("--regions", regions, "-k", "2", "--checkpoints", "1", "--json", "--run-dir", regions)
        results = json.loads(capsys.readouterr().out)
        assert results["settings"]["regions"] == regions
        units[regions] = len(results["valuation"]["units"])
    assert units["atomic"] < units["split"]


@pytest.mark.heavy
def test_a_limit_applies_to_the_whole_protocol_and_a_higher_one_resumes(place, capsys):
    protocol("--run-dir", "whole")
    whole = files("whole/results")
    protocol("--run-dir", "cut", "--max-rollouts", "60", code=4)
    assert not Path("cut/results").exists()
    for _ in range(20):  # each call may spend so much again
        if run(["bench", *WORDS, "--run-dir", "cut", "--max-rollouts", "40"]) == 0:
            break
    assert files("cut/results") == whole


WORDS = ("livemath", "--data", "live", "--skill", "knots", "--agent", "python:agent.py:answer", "--quiet")


def test_a_plan_forecasts_all_of_it_and_spends_nothing(place, capsys, validate):
    protocol("--plan", "--json")
    forecast = json.loads(capsys.readouterr().out)
    validate(forecast)
    protocol("--json")
    results = json.loads(capsys.readouterr().out)
    assert not results["notes"] or results["valuation"]["missing"] == 0
    assert forecast["low"]["rollouts"] <= forecast["expected"]["rollouts"] <= forecast["high"]["rollouts"]
    # 14 tasks of panel B for the anchors and the new skill alone, besides the valuation
    assert forecast["low"]["rollouts"] > 12 * 8 * 3 + 14 * 4
    assert not (place / "one").exists()


@pytest.mark.heavy
def test_compare_pools_the_results_of_several_runs(place, capsys):
    protocol("--run-dir", "one")
    protocol("--run-dir", "other", "--seed", "7")
    capsys.readouterr()
    bench("compare", "one", "other", "--json", "-o", "pooled")
    answer = json.loads(capsys.readouterr().out)
    assert answer["benchmarks"] == ["livemath", "livemath"]
    assert {(each["first"], each["second"]) for each in answer["differences"]} == {
        ("skillsv", "loo"),
        ("skillsv", "random"),
        ("loo", "random"),
        *((method, "skillsv-pairs") for method in ("skillsv", "loo", "random")),
    }
    assert len(answer["tables"]["closure"]) == 2
    assert {"pooled.json", "pooled.csv", "pooled.svg", "tables.md"} <= files("pooled").keys()
    assert {"agreement.svg", "concentration.svg", "agreement.csv"} <= files("pooled").keys()
    ps = sorted(pair["p"] for pair in answer["agreements"])
    assert len(ps) == 6
    assert min(pair["p_holm"] for pair in answer["agreements"]) == pytest.approx(min(1.0, 6 * ps[0]))


@pytest.mark.heavy
def test_a_confirmation_of_such_a_run_finds_the_benchmark_again(place, capsys):
    protocol("--run-dir", "one")
    capsys.readouterr()
    assert run(["confirm", "one", "--curves", "none", "--yes", "--quiet", "--json", "--max-drop", "60"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == 14


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("livemath", "--data", "nowhere", "--check"), "there is no such folder"),
        (("livemath", "--data", "knots", "--check"), "there are no files MONTH/qa_MONTH_final.json"),
        (("nosuch", "--data", "live", "--check"), "there is no benchmark 'nosuch'"),
        (("livemath", "--data", "live"), "needs a skill and an agent"),
        (("livemath", "--data", "live", "--check", "--splits", "knots", "--split", "test"), "no manifests here"),
        (("compare", "knots"), "holds no results"),
        (("compare",), "nothing to compare"),
    ],
)
def test_missing_data_or_flags_give_one_sentence(place, capsys, words, said):
    assert run(["bench", *words, "--json"]) in {1, 2}
    out, err = capsys.readouterr()
    assert said in err
    assert "Traceback" not in err
    assert not out


def test_a_month_missing_from_a_split_exits_with_2(place, capsys):
    items = [{"id": f"{month}:{number + 1}"} for month, count in MONTHS.items() for number in range(count)]
    manifest = place / "splits" / "livemathematicianbench_id_split" / "train" / "items.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps(items))
    bench("livemath", "--data", "live", "--check", "--split", "train", "--quiet", "--json")
    (place / "live" / "data" / "209902" / "qa_209902_final.json").unlink()
    capsys.readouterr()
    for words in (("--split", "train"), ()):
        bench("livemath", "--data", "live", "--check", "--json", *words, code=2)
        said = capsys.readouterr().err
        assert "12 of the 26" in said
        assert "209902:1" in said


@pytest.mark.heavy
@pytest.mark.parametrize("agent", ["command:python3 look.py", "python:look.py:look"])
def test_an_agent_does_not_see_the_answers(place, capsys, agent):
    (place / "look.py").write_text(
        "import json, sys\n"
        "def look(skill, task, replicate): return str(task.get('target'))\n"
        "if __name__ == '__main__': print(look(None, json.load(sys.stdin), 0))\n"
    )
    words = [word if "python:" not in word else agent for word in WORDS]
    small = ("-k", "2", "-b", "2", "--panel-a", "4", "--panel-b", "2", "--checkpoints", "1", "--keep-going")
    for more, score in (((), 0.0), (("--show-target",), 1.0)):
        assert run(["bench", *words, *small, "--yes", "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out)["valuation"]["anchors"]["full"]["value"] == score
