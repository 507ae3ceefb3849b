import json

import pytest

from skillsv.cli import run
from skillsv.cli.demo import example_folder
from skillsv.rollout.chain_repeats import most_repeats

EVALS = example_folder() / "evals"
AGENT = f"python:{EVALS}/agent.py:answer"


def planned(capsys, *flags):
    capsys.readouterr()
    assert run(["plan", str(example_folder()), "--json", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_forecast_of_chain_adds_panel_anchors_and_repeats_to_the_paper(capsys):
    plan = planned(capsys, "--method", "chain", "-k", "10", "-b", "8", "--tolerance", "off")
    units = plan["units"]
    chains = 10 * 8 * (4 + 2 * (units - 2))
    assert plan["expected"]["rollouts"] == chains + 3 * (60 - 8) + most_repeats(chains, 8, 10)
    assert plan["expected"]["usd"] is None  # unknown is unknown, not free


def test_an_unknown_cost_names_the_probe(capsys):
    capsys.readouterr()
    assert run(["plan", str(example_folder())]) == 0
    assert "--probe" in capsys.readouterr().out


@pytest.mark.heavy
def test_a_chain_setting_selects_chain_in_plan_and_value(capsys, tmp_path):
    tasks = ["--tasks", str(EVALS / "tasks.jsonl")]
    short = ["-k", "2", "-b", "4", "--tolerance", "off"]
    plan = planned(capsys, *tasks, *short)
    assert plan["method"] == "chain"
    assert plan == planned(capsys, *tasks, *short, "--method", "chain")
    run_flags = ["--agent", AGENT, "--run-dir", str(tmp_path / "run"), "--yes", "--json"]
    assert run(["value", str(example_folder()), *tasks, *short, *run_flags]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["settings"]["method"] == "chain"
    assert answer["rollouts"]["forecast"] == plan["expected"]["rollouts"]
    line = "The method is chain (Algorithm 1 of the paper), selected by --orders and --window and --tolerance."
    assert printed.err.splitlines().count(line) == 1


@pytest.mark.parametrize("command", [["plan"], ["value", "--tasks", "none", "--agent", AGENT], ["demo"]])
def test_a_chain_setting_with_method_auto_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    skill = [] if command == ["demo"] else [str(example_folder())]
    assert run([*command, *skill, "-k", "2", "--method", "auto"]) == 2
    assert "--method auto does not use --orders" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_forecast_of_auto_is_its_budget(capsys):
    assert planned(capsys, "--max-rollouts", "700")["high"]["rollouts"] == 700


@pytest.mark.heavy
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


def test_the_plan_of_chains_has_gamma_full_cost_and_ratio(capsys):
    plan = planned(capsys, "-k", "10", "-b", "8")
    units = plan["units"]
    assert plan["gammas"] == [0.1, 0.4, 1.0]
    assert plan["full_rollouts"] == 10 * 60 * (4 + 2 * (units - 2))
    assert plan["cost_ratio"] == pytest.approx(round(80 * (4 + 0.8 * (units - 2))) / plan["full_rollouts"])
    assert plan["measured_gamma"] is None
    assert run(["plan", str(example_folder()), "-k", "10"]) == 0
    printed = capsys.readouterr().out
    assert "(gamma): 0.10 to 1.00, about 0.40 (assumed)" in printed
    assert "(R_full)" in printed
    assert run(["plan", str(example_folder())]) == 0
    assert "gamma" not in capsys.readouterr().out


@pytest.mark.heavy
def test_a_plan_takes_the_gamma_that_an_earlier_run_measured(capsys, tmp_path):
    place = ["--run-dir", str(tmp_path / "run")]
    chain = ["--tasks", str(EVALS / "tasks.jsonl"), "-k", "3", "-b", "4"]
    assert run(["value", str(example_folder()), *chain, *place, "--agent", AGENT, "--yes", "--json", "-q"]) == 0
    valued = json.loads(capsys.readouterr().out)
    cost = valued["chain_cost"]
    assert cost["gamma"] == valued["truncation_share"]
    assert 0 < cost["gamma"] < 1
    panel, units = len(json.loads((tmp_path / "run/manifest.json").read_text())["panel_a"]), valued["skill"]["units"]
    assert cost["full_rollouts"] == 3 * panel * (4 + 2 * (units - 2))
    assert cost["rollouts"] == round(3 * 4 * (4 + 2 * cost["gamma"] * (units - 2)))
    assert cost["ratio"] == cost["rollouts"] / cost["full_rollouts"]
    plan = planned(capsys, *chain, *place)
    assert plan["measured_gamma"] == plan["gammas"][1] == cost["gamma"]
    assert planned(capsys, *chain, *place, "--tolerance", "0.2")["measured_gamma"] is None


def test_a_table_says_what_each_budget_buys(capsys):
    plan = planned(capsys, "--tasks", str(EVALS / "tasks.jsonl"))
    assert [row["rollouts"] for row in plan["budgets"]] == [200, 400, 800, 1600]
    shares = [row["decided"]["deterministic"] for row in plan["budgets"]]
    assert shares == sorted(shares)
    assert shares[0] < 0.2 < 0.4 < shares[-1]
    delete = planned(capsys, "--tasks", str(EVALS / "tasks.jsonl"), "--operators", "delete")
    assert all(
        one["decided"]["deterministic"] >= two["decided"]["deterministic"]
        for one, two in zip(delete["budgets"], plan["budgets"], strict=True)
    )
    assert plan["skill_tokens"] > 100
    assert run(["plan", str(example_folder()), "--tasks", str(EVALS / "tasks.jsonl"), "--panel-b", "20"]) == 0
    printed = capsys.readouterr().out
    assert "20 held-out tasks rule out a drop of 13.9 points at best, unless scores rise; 5 points need 59." in printed
    assert "The skill has " in printed


@pytest.mark.heavy
def test_a_run_keeps_its_operators_when_the_budget_grows(capsys, tmp_path):
    folder = str(tmp_path / "run")
    command = [
        "value",
        str(example_folder()),
        "--tasks",
        str(EVALS / "tasks.jsonl"),
        "--agent",
        AGENT,
        "--run-dir",
        folder,
    ]
    assert run([*command, "--max-rollouts", "600", "--quiet", "--json"]) == 0
    first = capsys.readouterr()
    assert "--operators delete,pad" in first.err
    assert json.loads(first.out)["settings"]["operators"] == ["delete"]
    assert run([*command, "--max-rollouts", "2500", "--until-resolved", "0.1", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["operators"] == ["delete"]
