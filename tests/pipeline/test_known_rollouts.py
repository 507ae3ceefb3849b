"""An edited skill asks first for what an earlier version has paid for, and says so before spending."""

import json
import re
import shutil
from functools import partial

import pytest

import skillsv as sv
from skillsv.model.coalition import AdaptiveReason
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


def run_at(place, lines, budget=BUDGET, tasks=TASKS):
    """Value a skill of these lines in the folder `place`."""
    (place / "rules").mkdir(exist_ok=True)
    (place / "rules/SKILL.md").write_text(HEAD + "".join(lines))
    settings = {"panel_b": 0, "max_rollouts": budget, "operators": ["delete"], "seed": 3}
    plan = sv.plan(place / "rules", tasks=tasks, agent=answer, version="1", run_dir=place / "run", **settings)
    return plan, sv.value(plan)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """The run of the skill before any edit: its folder, its plan and its result."""
    place = tmp_path_factory.mktemp("first")
    return place, *run_at(place, LINES)


@pytest.fixture
def value(first_run, tmp_path):
    """Values an edited skill, in a copy of the folder of the first run."""
    shutil.copytree(first_run[0], tmp_path, dirs_exist_ok=True)
    return partial(run_at, tmp_path)


def values(run):
    return {re.search(r"[wx]\d+", unit.text)[0]: unit.net.value for unit in run.valuation.units}


ADDED = [*LINES[:5], "- rule x1 is new\n", *LINES[5:]]
REMOVED = [*LINES[:12], *LINES[13:]]
CHANGED = [*LINES[:12], "- rule w12 is never used\n", *LINES[13:]]
NEEDED = [*LINES[:5], "- rule w5 applies always\n", *LINES[6:]]


@pytest.mark.parametrize(
    "edited", [ADDED, REMOVED, CHANGED, NEEDED], ids=["added", "removed", "changed", "needed and changed"]
)
def test_an_edited_skill_pays_for_at_most_forty_percent_of_its_budget(value, tmp_path, edited):
    plan, run = value(edited)
    (note,) = [note for note in plan.notes if "earlier version" in note]
    assert "cost nothing" in note
    spent = run.valuation.rollouts.spent
    assert spent <= NEW_SHARE * BUDGET
    known = json.loads((tmp_path / "run/known.json").read_text())["coalitions"]
    assert run.valuation.rollouts.reused >= len(known) > 0.3 * BUDGET
    for name, net in values(run).items():
        needed = sum(task["input"] == name for task in TASKS)
        assert abs(net - needed / len(TASKS)) < 0.03


@pytest.mark.heavy
def test_the_same_command_goes_on_with_what_the_run_took_over(value, tmp_path):
    _, first = value(NEEDED)
    known = (tmp_path / "run/known.json").read_bytes()
    _, again = value(NEEDED)
    assert (first.valuation.rollouts.spent > 0, again.valuation.rollouts.spent) == (True, 0)
    assert (tmp_path / "run/known.json").read_bytes() == known
    assert values(again) == values(first)
    _, further = value(NEEDED, budget=2 * BUDGET)
    assert 0 < further.valuation.rollouts.spent < 2 * BUDGET
    assert (tmp_path / "run/known.json").read_bytes() == known


def test_a_line_changed_in_place_is_asked_where_the_scores_changed(first_run, value, tmp_path):
    """The scores that showed the other units beside the old line are asked for again, and the null changes are not."""
    earlier = first_run[2]
    _, run = value(NEEDED)
    asked = run.stored.observations
    reasons = {item.why for item in asked}
    assert AdaptiveReason.ANCHOR_NULL_CHANGE in {item.why for item in earlier.stored.observations}
    assert AdaptiveReason.ANCHOR_NULL_CHANGE not in reasons
    changed = next(unit.id for unit in run.valuation.units if "always" in unit.text)
    repeated = [item for item in asked if item.why is AdaptiveReason.PRIOR]
    assert repeated
    assert all(changed in item.coalition for item in repeated)
    known = json.loads((tmp_path / "run/known.json").read_text())
    assert {"verify", "sample"} <= set(known["why"]), "the estimate learns from these how often forecasts fail"
    assert {name for name, net in values(run).items() if net > 0.03} == {f"w{number}" for number in range(1, 10)}


def test_null_changes_are_asked_where_tasks_are_new(value, tmp_path):
    _, run = value(NEEDED, tasks=[*TASKS, {"id": "new", "input": "w1", "target": "yes", "verifier": "exact"}])
    assert json.loads((tmp_path / "run/known.json").read_text())["coalitions"]
    asked = {item.task for item in run.stored.observations if item.why is AdaptiveReason.ANCHOR_NULL_CHANGE}
    assert len(asked) == len(TASKS) + 1


def test_a_first_run_knows_nothing(first_run):
    place, plan, _ = first_run
    assert not [note for note in plan.notes if "earlier version" in note]
    assert not (place / "run/known.json").exists()


def test_a_run_after_an_edit_is_at_most_a_quarter_shorter():
    assert shortened(600, 0) == 600
    assert shortened(600, 100) == 450
    assert shortened(600, 300) == 540
    assert shortened(600, 500) == 600
