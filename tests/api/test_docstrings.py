"""The example in the docstring of each public name runs as written."""

import doctest
import inspect

import pytest

import skillsv

DOCUMENTED = [
    name
    for name in skillsv.__all__
    if name not in {"__version__", "errors"} and skillsv.__getattr__(name).__module__.startswith("skillsv.api")
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_example_of_each_public_name_runs(name):
    value = getattr(skillsv, name)
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(value, name, module=inspect.getmodule(value), globs={})
    failures, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert failures == 0


@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name not in {"ShorterSkill", "Proof"}])
def test_each_public_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(skillsv, name))


def test_all_names_can_be_imported_and_listed():
    assert set(dir(skillsv)) == set(skillsv.__all__)
    for name in skillsv.__all__:
        assert getattr(skillsv, name) is not None
    with pytest.raises(AttributeError):
        skillsv.no_such_name  # noqa: B018
