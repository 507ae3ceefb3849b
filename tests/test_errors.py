"""The tree of errors in the docstring of `skillsv.errors`, and the text of an error."""

import inspect

import pytest

from skillsv import errors
from skillsv.errors import SkillSVError

CLASSES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, SkillSVError)]


def read_tree():
    """Each class that the docstring draws: its name, the name of its parent, its exit code."""
    lines = [line for line in inspect.getdoc(errors).splitlines() if " exit " in line and line.startswith("    ")]
    parents = {}
    for line in lines:
        drawing, code = line.split(" exit ")
        name = drawing.split()[-1]
        depth = drawing.index(name) // 4
        parents[depth] = name
        yield name, parents.get(depth - 1), int(code.split()[0])


def test_docstring_draws_each_class_with_its_parent_and_exit_code():
    real = {
        (error.__name__, None if error is SkillSVError else error.__base__.__name__, error.exit_code)
        for error in CLASSES
    }
    assert set(read_tree()) == real


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_docstring_of_each_class_names_its_exit_code(error):
    assert f"exit code {error.exit_code}" in error.__doc__


def test_text_of_an_error_has_place_message_and_hint():
    error = SkillSVError("the fence is never closed.", where="SKILL.md:41", hint="Add ``` below it.")
    assert str(error) == "SKILL.md:41: the fence is never closed. Add ``` below it."
