"""Every public name has one home: nothing is offered by two modules."""

import importlib
import pkgutil
from collections import defaultdict

import skillsv


def room_names():
    return sorted(module.name for module in pkgutil.iter_modules(skillsv.__path__) if module.ispkg)


def test_each_public_name_is_exposed_once():
    homes = defaultdict(list)
    for room in room_names():
        package = importlib.import_module(f"skillsv.{room}")
        for name in getattr(package, "__all__", ()):
            assert hasattr(package, name), f"skillsv.{room} promises {name} and does not have it"
            homes[name].append(room)
    assert {name: rooms for name, rooms in homes.items() if len(rooms) > 1} == {}


def test_each_room_says_what_it_is_for():
    for room in room_names():
        assert importlib.import_module(f"skillsv.{room}").__doc__, f"skillsv.{room} has no docstring"
