"""The modules for packages that extend skillsv: they export what such a package uses, and nothing else."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import skillsv.extend
import skillsv_bench

MODULES = sorted(module.name for module in pkgutil.iter_modules(skillsv.extend.__path__))


def syntax_of(module):
    return ast.parse((Path(skillsv.extend.__path__[0]) / f"{module}.py").read_text())


@pytest.mark.parametrize("module", MODULES)
def test_a_module_only_exports(module):
    docstring, *imports, names = syntax_of(module).body
    assert isinstance(docstring.value, ast.Constant)
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    assert sorted(alias.name for node in imports for alias in node.names) == sorted(ast.literal_eval(names.value))


def test_each_name_is_exported_by_one_module():
    modules = defaultdict(list)
    for module in MODULES:
        for name in importlib.import_module(f"skillsv.extend.{module}").__all__:
            modules[name].append(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_skillsv_bench_uses_every_name():
    used = set()
    for file in Path(skillsv_bench.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skillsv.extend."):
                used |= {(node.module.rpartition(".")[2], alias.name) for alias in node.names}
    exported = {(name, item) for name in MODULES for item in importlib.import_module(f"skillsv.extend.{name}").__all__}
    assert exported - used == set()


def test_the_package_lists_its_modules():
    listed = [line.split()[0] for line in skillsv.extend.__doc__.split("\n\n")[1].splitlines()]
    assert sorted(listed) == MODULES


def test_flags_of_a_command_are_imported_without_the_pipeline():
    program = "import sys, skillsv.extend.commands; print([name for name in ('numpy', 'skillsv.pipeline') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
