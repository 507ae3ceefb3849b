"""The walkthrough runs from its first step to its last, pays for nothing twice, and is the one that the tutorial shows."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("walkthrough", ROOT / "examples/walkthrough/walkthrough.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["walkthrough"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.heavy
def test_the_walkthrough_runs_and_is_the_one_of_the_tutorial(script, tmp_path):
    walk = script.walk_through(tmp_path)
    paid = dict(walk.paid)
    first, more = [number for words, number in walk.paid if words.startswith("value") and "--run-dir run " in words]
    assert 150 <= first <= 200, "a limit of 200 rollouts"
    assert 300 <= first + more <= 600, "the second command went on from the first"
    printed = "\n".join(walk.lines)
    reused = [int(number.replace(",", "")) for number in re.findall(r"rollouts run, ([\d,]+) reused", printed)]
    assert len(reused) >= 5
    assert min(reused[-3:-1]) > 100, "after an edit, and with more tasks, the ledger answers"
    assert paid["interrupted"] < paid["interrupted and resumed"] <= 120 + 8, (
        "what was paid before the interruption was not paid again"
    )
    assert 0 < paid["model"] <= 200 + 8
    for words in ("Worse on 20 held-out tasks", "Confirmed on 20 held-out tasks", "Precision: "):
        assert words in printed
    shown = (ROOT / "docs/tutorial.md").read_text()
    assert commands(printed) == commands(shown), (
        "run: python examples/walkthrough/walkthrough.py --write docs/tutorial.md"
    )


def commands(text):
    """The commands of a text, and the exit codes other than 0."""
    return re.findall(r"^(\$ skillsv .*|\(exit code \d+\))$", text, re.MULTILINE)


def test_the_tutorial_shows_every_step(script):
    shown = (ROOT / "docs/tutorial.md").read_text()
    for mark in script.MARKS:
        assert mark in shown
    for words in ("lint", "plan", "value", "prune", "confirm", "status", "trigger"):
        assert f"$ skillsv {words} " in shown
