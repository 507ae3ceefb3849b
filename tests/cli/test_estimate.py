"""`skillsv estimate` prints the same result as `skillsv value`."""

import json

from skillsv.cli import run


def test_it_gives_the_same_result_and_notes_again(original, capsys):
    first = json.loads((original / "run" / "valuation.json").read_text())
    capsys.readouterr()
    assert run(["estimate", str(original / "run"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert first["notes"]
    assert {**again, "rollouts": None} == {**first, "rollouts": None}


def test_the_resolution_is_given_in_points_and_stored_as_a_share(place, capsys):
    assert run(["estimate", str(place / "run"), "--resolution", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["resolution"] == 0.02
    assert run(["estimate", str(place / "run"), "--resolution", "200"]) == 2
    assert "points between 0 and 100" in capsys.readouterr().err


def test_a_resolution_that_an_older_run_recorded_as_a_share_is_the_same(place, capsys):
    manifest = place / "run" / "manifest.json"
    recorded = json.loads(manifest.read_text())
    recorded["settings"]["resolution"] = 0.04
    manifest.write_text(json.dumps(recorded))
    assert run(["estimate", str(place / "run"), "--json"]) == 0
    answer = capsys.readouterr()
    assert json.loads(answer.out)["resolution"] == 0.04
    assert "did you mean" not in answer.err
