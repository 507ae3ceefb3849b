"""A run notes on how many of its first tasks the agent opened the full skill."""

from __future__ import annotations

import pytest

import skillsv as sv
from skillsv.errors import NoDifference
from skillsv.model.rollout import Outcome

TASKS = [
    {"id": word, "input": word, "target": word, "verifier": "contains"} for word in ("red", "blue", "grey", "pink")
]
SKILL = "---\nname: colours\ndescription: x\n---\n\n- red\n- blue\n- grey\n- pink\n"


def value(opened):
    def answer(skill, task):
        seen = skill is not None and task.id in opened
        return Outcome(answer=skill.text if seen else "", opened=None if skill is None else seen)

    return sv.value(
        SKILL, tasks=TASKS, agent=answer, panel_b=0, method="chain", orders=1, window=4, operators=("delete",)
    )


def test_tasks_without_an_opening_are_counted():
    notes = " ".join(value({"red", "grey"}).notes)
    assert "The agent opened the skill on 2 of 4 tasks." in notes


def test_nothing_is_said_where_every_task_opens_the_skill():
    assert "opened the skill" not in " ".join(value({"red", "blue", "grey", "pink"}).notes)


def test_a_run_that_ends_because_nothing_differs_says_that_the_skill_was_never_opened():
    with pytest.raises(NoDifference, match="opened the skill on none of 4 tasks"):
        value(set())
