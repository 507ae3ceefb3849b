"""Trigger evaluation from Python: what a plan shows to a model, and what is refused."""

import pytest

from skillsv.api.inputs import Inputs
from skillsv.api.trigger import plan_trigger
from skillsv.errors import SettingsError, SkillError
from skillsv.pipeline.trigger import read_choice

SKILL = "---\nname: plot\ndescription: Draws charts. Be kind.\n---\n\nUse bars.\n"
TASKS = [{"input": "A chart", "should_trigger": True}, {"input": "Hello", "should_trigger": False}]


@pytest.mark.parametrize(("ask", "deliver"), [(False, "files"), (True, "prompt")])
def test_a_model_has_to_open_the_skill_unless_it_is_asked(monkeypatch, ask, deliver):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    inputs = Inputs(tasks=TASKS, agent="model:openai:gpt-4o")
    plan = plan_trigger(SKILL, inputs, {"tools": "files", "max_rollouts": 10}, ask=ask)
    assert plan.settings.deliver == deliver
    assert [unit.kind for unit in plan.skill.units][1:] != []
    assert len(plan.skill.compiled.execution) == 2


def test_settings_that_a_trigger_evaluation_fixes_are_refused():
    with pytest.raises(SettingsError, match="operators"):
        plan_trigger(SKILL, Inputs(tasks=TASKS, agent=lambda skill, task: "none"), {"operators": "delete"}, ask=True)


def test_a_skill_without_a_description_is_refused():
    with pytest.raises(SkillError, match="no description"):
        plan_trigger("---\nname: a\n---\n\n# B\n", Inputs(tasks=TASKS, agent=lambda skill, task: "none"), {}, ask=True)


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("plot", {"plot"}),
        ("`Plot`, cook", {"plot", "cook"}),
        ("None.", set()),
        ("- plot\n", {"plot"}),
        ("I would open something", None),
        ("", None),
    ],
)
def test_read_choice(answer, chosen):
    assert read_choice(answer, ["plot", "cook"]) == chosen
