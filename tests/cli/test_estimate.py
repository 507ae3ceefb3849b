"""`skillsv estimate` says of a run what `skillsv value` said."""

import json

from skillsv.cli import run


def test_it_gives_the_same_answer_again_notes_included(original, capsys):
    first = json.loads((original / "run" / "valuation.json").read_text())
    capsys.readouterr()
    assert run(["estimate", str(original / "run"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert first["notes"]
    assert {**again, "rollouts": None} == {**first, "rollouts": None}
