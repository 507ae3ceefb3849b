import inspect

import pytest

from skillsv import errors
from skillsv.errors import SkillSVError

TREE = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, SkillSVError)]


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_the_drawn_tree_is_the_real_tree(error):
    drawn = errors.__doc__
    assert error.__name__ in drawn
    assert error.exit_code in {1, 2, 3, 4, 5, 130}


def test_an_error_says_what_where_and_what_to_do():
    trouble = SkillSVError("the fence is never closed.", where="SKILL.md:41", hint="Add ``` below it.")
    assert str(trouble) == "SKILL.md:41: the fence is never closed. Add ``` below it."
