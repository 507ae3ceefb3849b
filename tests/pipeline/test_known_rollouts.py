"""An edited skill asks first for what an earlier version has paid for, and says so before spending."""

import json
import re

import pytest

import skillsv as sv
from skillsv.pipeline.known_rollouts import NEW_SHARE, shortened

HEAD = "---\nname: rules\ndescription: Rules.\n---\n# Rules\n\n"
LINES = [f"- rule w{number} applies\n" for number in range(14)]
BUDGET = 260


def answer(skill, task):
    """Says yes where the skill holds every rule that the task needs."""
    text = "" if skill is None else skill.text
    return "yes" if all(f"rule {word} " in text for word in task.input.split()) else "no"


TASKS = [
    {"id": f"t{number}", "input": f"w{number % 9 + 1}", "target": "yes", "verifier": "exact"} for number in range(16)
]


@pytest.fixture
def value(tmp_path):
    def run(lines, folder="run", budget=BUDGET):
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "rules/SKILL.md").write_text(HEAD + "".join(lines))
        settings = {"panel_b": 0, "max_rollouts": budget, "operators": ["delete"], "seed": 3}
        plan = sv.plan(
            tmp_path / "rules", tasks=TASKS, agent=answer, version="1", run_dir=tmp_path / folder, **settings
        )
        return plan, sv.value(plan)

    return run


def values(run):
    return {re.search(r"[wx]\d+", unit.text)[0]: unit.net.value for unit in run.valuation.units}


def test_an_edited_skill_pays_for_at_most_forty_percent_of_its_budget(value, tmp_path):
    value(LINES)
    edited = [*LINES[:5], "- rule x1 is new\n", *LINES[5:]]
    plan, run = value(edited)
    (note,) = [note for note in plan.notes if "earlier version" in note]
    assert "cost nothing" in note
    spent = run.valuation.rollouts.spent
    assert spent <= NEW_SHARE * BUDGET
    known = json.loads((tmp_path / "run/known.json").read_text())["coalitions"]
    assert run.valuation.rollouts.reused >= len(known) > BUDGET / 2
    _, anew = value(edited, folder="anew")
    assert anew.valuation.rollouts.spent > 2 * spent
    for name, net in values(anew).items():
        assert abs(values(run)[name] - net) < 0.03


def test_the_same_command_goes_on_with_what_the_run_took_over(value, tmp_path):
    value(LINES)
    edited = [*LINES[:5], "- rule w5 applies always\n", *LINES[6:]]
    _, first = value(edited)
    known = (tmp_path / "run/known.json").read_bytes()
    _, again = value(edited)
    assert (first.valuation.rollouts.spent > 0, again.valuation.rollouts.spent) == (True, 0)
    assert (tmp_path / "run/known.json").read_bytes() == known
    assert values(again) == values(first)
    _, further = value(edited, budget=2 * BUDGET)
    assert 0 < further.valuation.rollouts.spent < 2 * BUDGET
    assert (tmp_path / "run/known.json").read_bytes() == known


def test_a_first_run_knows_nothing(value, tmp_path):
    plan, _ = value(LINES)
    assert not [note for note in plan.notes if "earlier version" in note]
    assert not (tmp_path / "run/known.json").exists()


def test_a_run_after_an_edit_is_at_most_a_fifth_shorter():
    assert shortened(600, 0) == 600
    assert shortened(600, 100) == 480
    assert shortened(600, 300) == 540
    assert shortened(600, 500) == 600
