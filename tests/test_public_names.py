"""Every public name is exposed by one package only."""

import importlib
import pkgutil
from collections import defaultdict

import skillsv


def package_names():
    return sorted(module.name for module in pkgutil.iter_modules(skillsv.__path__) if module.ispkg)


def test_each_public_name_is_exposed_once():
    packages = defaultdict(list)
    for room in package_names():
        package = importlib.import_module(f"skillsv.{room}")
        for name in getattr(package, "__all__", ()):
            assert hasattr(package, name), f"skillsv.{room} lists {name} in __all__ and does not have it"
            packages[name].append(room)
    assert {name: rooms for name, rooms in packages.items() if len(rooms) > 1} == {}


def test_each_package_has_a_docstring():
    for room in package_names():
        assert importlib.import_module(f"skillsv.{room}").__doc__, f"skillsv.{room} has no docstring"
