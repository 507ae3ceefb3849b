"""`skillsv bench planted` as a user runs it."""

import json

import pytest

from skillsv.cli.app import run


def printed(capsys, *words):
    assert run(["bench", "planted", *words]) == 0
    return capsys.readouterr().out


def test_recovery_prints_true_and_recovered_values_of_all_methods(capsys):
    text = printed(capsys, "--repetitions", "2", "--orders", "24")
    lines = text.splitlines()
    assert lines[0] == "mechanism: 7 units, 32 tasks; values in points, random ones without scale"
    assert all(name in lines[1] for name in ("true", "skillsv-chain", "closure-loo", "random", "evidence"))
    place = lines[1].split().index("true")
    assert [line.split()[place] for line in lines[2:9]] == ["12.5000"] * 4 + ["25.0000", "-25.0000", "0.0000"]
    assert sum(" or " in line for line in lines) == 2
    assert any(line.split()[0] == "closure-loo" for line in lines if line.strip())


def test_json_holds_the_same_rows(capsys):
    answer = json.loads(printed(capsys, "--json", "--repetitions", "2", "--games", "mechanism,livemath", "-k", "12"))
    assert answer["schema"] == "skillsv.bench.planted/1"
    assert [game["game"] for game in answer["games"]] == ["mechanism", "livemath"]
    rows = answer["games"][0]["rows"]
    assert [row["true"] for row in rows] == pytest.approx([0.125] * 4 + [0.25, -0.25, 0.0], abs=1e-12)
    assert {row["method"] for row in answer["games"][0]["methods"]} == {"skillsv-chain", "closure-loo", "random"}


@pytest.mark.parametrize(
    ("study", "columns"),
    [
        ("coverage", {"chains", "honest", "plain"}),
        ("variance", {"window", "paired", "unpaired"}),
        ("calibration", {"window", "tolerance", "rmse_over_sd", "rollouts"}),
        ("truncation", {"tolerance", "omitted", "true_omitted", "beyond", "gamma", "saved"}),
        ("pruning", {"method", "area", "low", "high"}),
        ("rules", {"rules", "edges", "broken", "exact_error", "area"}),
    ],
)
def test_each_study_gives_its_rows(capsys, study, columns):
    answer = json.loads(printed(capsys, "--json", "--study", study, "--repetitions", "2", "-k", "12"))
    assert columns <= set(answer["games"][0]["rows"][0])


def test_text_gives_amounts_of_score_in_points_and_json_in_shares(capsys):
    words = ("--study", "pruning", "--repetitions", "2", "-k", "12")
    text = printed(capsys, *words)
    tables = json.loads(printed(capsys, "--json", *words))["games"]
    assert [table["game"] for table in tables] == ["mechanism", "pooled"]
    area = tables[0]["rows"][0]["area"]
    assert 0 < area < 1
    assert f"{100 * area:.4f}" in text
    assert "area, low, high in points" in text


@pytest.mark.parametrize("study", ["truncation", "pruning", "rules"])
def test_a_window_larger_than_a_game_is_refused_by_every_study(capsys, study):
    assert run(["bench", "planted", "--study", study, "--window", "99"]) == 2
    assert "fewer than a window of 99" in capsys.readouterr().err


@pytest.mark.heavy
def test_closure_has_a_row_per_game_agent_and_method_and_names_the_misses(capsys):
    words = ("--study", "closure", "--repetitions", "3", "--games", "mechanism,alfworld", "-k", "4", "-b", "4")
    answer = json.loads(printed(capsys, *words, "--json"))
    names = [(row["game"], row["agent"], row["method"]) for row in answer["rows"]]
    agents = [("rules", "chain"), ("rules", "auto"), ("noisy@0.5", "chain"), ("noisy@0.5", "auto")]
    assert names == [(game, *rest) for game in ("mechanism", "alfworld") for rest in agents]
    assert all(row["exact"] == pytest.approx(1.0) and row["repetitions"] == 3 for row in answer["rows"])
    steady = answer["rows"][1]
    assert steady["ratio"] == pytest.approx(1.0)
    assert steady["lift"] == pytest.approx(0.5)
    for name, row in zip(names, answer["rows"], strict=True):
        misses = not 0.9 <= row["ratio"] <= 1.1
        assert (f"{' '.join(name)} (" in answer["summary"]) == misses
    assert any(not 0.9 <= row["ratio"] <= 1.1 for row in answer["rows"])


@pytest.mark.parametrize(
    "words",
    [
        ["--games", "chess"],
        ["--agent", "clever"],
        ["--tolerance", "much"],
        ["--repetitions", "1"],
        ["--window", "99"],
        ["--orders", "1"],
        ["--seed", "-1"],
        ["--study", "nothing"],
        ["--study", "closure", "--agent", "rules,clever"],
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, words):
    assert run(["bench", "planted", *words]) == 2
    error = capsys.readouterr()
    assert error.out == ""
    assert error.err.strip()
    assert "Traceback" not in error.err
