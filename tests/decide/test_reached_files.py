"""Files that only one unit leads to: found, shown, kept and deleted with that unit."""

import math

import pytest
from tests.decide.test_verdicts import estimate, value

import skillsv as sv
from skillsv.decide import find_reached_files, pruning_path, verdicts
from skillsv.model.value import Action, Evidence

FILES = {
    "SKILL.md": "# Words\n\n- Greet as in greetings.md.\n- Count by count.py.\n- Again count.py.\n- Plain.\n",
    "greetings.md": "See more.txt.\n",
    "more.txt": "Hello.\n",
    "count.py": "print(1)\n",
    "alone.txt": "Nothing leads here.\n",
}


@pytest.fixture
def compiled(tmp_path):
    def make(**settings):
        for name, text in FILES.items():
            (tmp_path / name).write_text(text)
        return sv.compile(tmp_path, **settings).compiled

    return make


def unit_at(compiled, line, file="SKILL.md"):
    return next(unit.id for unit in compiled.units if unit.file == file and unit.lines.first == line)


def test_a_unit_reaches_the_files_that_nothing_else_leads_to(compiled):
    skill = compiled()
    pointer = unit_at(skill, 3)
    values = {unit: value(unit, 0.0, 0.0, Evidence.NEGLIGIBLE) for unit in skill.execution}
    values[pointer] = value(pointer, 0.07, 0.09, Evidence.POSITIVE)
    values["more.txt"] = value("more.txt", 0.01, 0.03, Evidence.POSITIVE)
    reached = find_reached_files(skill, values)
    assert reached[pointer].files == ("greetings.md", "more.txt")
    assert math.isclose(reached[pointer].net, 0.10)
    assert set(reached) == {pointer, "greetings.md"}, "two units lead to count.py, and none to alone.txt"


def test_units_inside_a_file_are_reached_by_its_only_pointer(compiled):
    skill = compiled(inside="references")
    pointer = unit_at(skill, 3)
    values = {unit: value(unit, 0.0, 0.0, Evidence.NEGLIGIBLE) for unit in skill.execution}
    assert find_reached_files(skill, values)[pointer].files == ("greetings.md", "more.txt")


def test_a_file_is_pruned_in_the_step_of_its_last_pointer(compiled):
    skill = compiled()
    first, second = unit_at(skill, 4), unit_at(skill, 5)
    values = dict.fromkeys(skill.execution, 0.5) | {first: 0.1, second: 0.1, "count.py": 0.2}
    first_step, second_step = pruning_path(skill, values, len)[:2]
    assert first_step.removed == (second,)
    assert second_step.removed == (first, "count.py")
    assert math.isclose(second_step.lost_value, 0.4)


def test_a_pointer_is_not_deleted_without_the_file_that_only_it_leads_to(compiled):
    skill = compiled()
    pointer = unit_at(skill, 3)
    values = [value(unit, 0.0, 0.0, Evidence.NEGLIGIBLE) for unit in skill.execution if unit != "greetings.md"]
    unresolved = value("greetings.md", -0.05, 0.09, Evidence.UNRESOLVED)
    found = {verdict.unit: verdict for verdict in verdicts(skill, estimate(*values, unresolved), {})}
    assert found[pointer].action is Action.UNRESOLVED
    assert "only it leads to greetings.md" in found[pointer].reason
    settled = value("greetings.md", 0.0, 0.0, Evidence.NEGLIGIBLE)
    found = {verdict.unit: verdict for verdict in verdicts(skill, estimate(*values, settled), {})}
    assert {found[pointer].action, found["greetings.md"].action, found["more.txt"].action} == {Action.EXPENDABLE}
