"""A small skill and tasks for the tests of the API."""

import pytest

SKILL = "---\nname: colours\ndescription: Knows colours.\n---\n# Colours\n\n- red\n- green\n- a remark\n"


@pytest.fixture
def skill():
    return SKILL


@pytest.fixture
def tasks():
    return [{"id": f"t{index}", "input": ("red", "green", "blue")[index % 3], "target": "yes"} for index in range(24)]


@pytest.fixture
def answer():
    def know_colour(skill, task):
        return "yes" if skill and task.input in skill.text else "no"

    return know_colour
