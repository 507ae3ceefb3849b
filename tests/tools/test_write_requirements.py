"""`requirements.txt` has a hash for everything that pyproject.toml names, in the versions of constraints.txt."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("write_requirements", ROOT / "tools" / "write_requirements.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_agrees_with_the_pins_and_the_project(tool):
    assert tool.problems() == []


def test_neither_file_names_an_index_or_another_source(tool):
    for path in (tool.REQUIREMENTS, tool.CONSTRAINTS):
        assert not re.search(r"://|^-|@", path.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("anyio==", "anyio==9.", "anyio is not"),
        ("hatchling==", "other==", "hatchling of pyproject.toml is missing"),
        ("--hash=sha256:", "--hash=md5:", "no pin with hashes"),
    ],
)
def test_a_file_that_disagrees_is_noticed(tool, tmp_path, old, new, said):
    text = tool.REQUIREMENTS.read_text("utf-8")
    tool.REQUIREMENTS = tmp_path / "requirements.txt"
    tool.REQUIREMENTS.write_text(text.replace(old, new, 1))
    assert any(said in problem for problem in tool.problems())
