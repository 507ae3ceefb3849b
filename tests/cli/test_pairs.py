import json

import pytest

from skillsv.cli import run
from skillsv.cli.pairs import _lines


def run_pairs(place, capsys, *flags):
    capsys.readouterr()
    assert run(["pairs", str(place / "run"), "--json", "--quiet", *flags]) == 0
    return json.loads(capsys.readouterr().out)


def unit(place, capsys, words):
    capsys.readouterr()
    assert run(["report", str(place / "run"), "--format", "json"]) == 0
    units = json.loads(capsys.readouterr().out)["units"]
    (name,) = [unit["id"] for unit in units if words in unit["text"]]
    return name


def test_redundant_units_are_suspected_and_confirmed(place, capsys):
    redundant = {unit(place, capsys, "- Say `beta`"), unit(place, capsys, "Once more")}
    answer = run_pairs(place, capsys, "--yes")
    (suspect,) = [pair for pair in answer["suspected"] if {pair["first"], pair["second"]} == redundant]
    assert suspect["score"] < 0
    (tested,) = [pair for pair in answer["tested"] if {pair["first"], pair["second"]} == redundant]
    assert tested["relation"] == "redundant"
    assert tested["without_first"]["value"] == tested["without_second"]["value"] == 0
    assert tested["without_both"]["low"] > 0


def test_suspects_are_listed_at_no_cost(original, place, capsys, valued):
    before = len(valued.asked(original))
    answer = run_pairs(place, capsys, "--list")
    assert answer["suspected"]
    assert answer["tested"] == []
    assert len(valued.asked(original)) == before


def test_a_given_pair_is_tested_on_panel_a_only(original, place, capsys, valued):
    one, other = unit(place, capsys, "- Say `alpha`"), unit(place, capsys, "Speak of")
    before = len(valued.asked(original))
    (tested,) = run_pairs(place, capsys, "--pair", f"{one},{other}", "--max-rollouts", "500")["tested"]
    assert tested["relation"] in {"independent", "unresolved"}
    assert tested["interaction"]["value"] == 0
    panel = json.loads((place / "run/manifest.json").read_text())["panel_b"]
    assert not set(valued.asked(original)[before:]) & set(panel)


@pytest.mark.parametrize("flags", [["--pair", "one"], ["--pair", "no-such,unit"], ["--most", "0"], ["--window", "1"]])
def test_invalid_flags_are_refused(place, capsys, flags):
    assert run(["pairs", str(place / "run"), "--yes", *flags]) == 2


def test_a_pair_of_one_unit_with_itself_is_refused(place, capsys):
    name = unit(place, capsys, "Speak of")
    assert run(["pairs", str(place / "run"), "--yes", "--pair", f"{name},{name}"]) == 2
    assert "the same unit" in capsys.readouterr().err


def test_nothing_is_spent_without_consent(place, capsys):
    assert run(["pairs", str(place / "run")]) == 2
    assert "--yes" in capsys.readouterr().err


def test_no_suspicion_is_not_called_a_proof_of_independence():
    said = " ".join(_lines((), ()))
    assert "No suspicious pair was found" in said
    assert "rules none out" in said
