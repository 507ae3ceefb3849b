"""Every public name is exposed by one package only."""

import importlib
import pkgutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

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


HEAVY = ("anyio", "cyclopts", "jinja2", "msgspec", "numpy", "rich", "scipy", "typing")
"""Modules that take long to import. `typing` takes more than all of `import skillsv` itself."""


def test_importing_the_package_imports_nothing_heavy():
    # -S: site packages may import modules at the start of Python, before anything else runs.
    source = Path(skillsv.__file__).parents[1]
    program = f"import sys; sys.path.insert(0, {str(source)!r}); import skillsv; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    imported = result.stdout.split()
    assert "skillsv" in imported
    assert [name for name in HEAVY if name in imported] == []
    assert {name for name in imported if name.startswith("skillsv")} == {"skillsv", "skillsv.version"}
