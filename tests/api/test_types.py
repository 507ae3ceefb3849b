"""The public names are typed: a strict type checker finds no `Any` in a program that uses them."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("public_program.py")
ROOT = Path(__file__).parents[2]

LEAK = """
import json

def read(text: str) -> str:
    return str(json.loads(text))
"""
"""A typed program with an expression of type Any, which the check must find."""


def check_types(path, cache):
    command = [sys.executable, "-m", "mypy", "--strict", "--disallow-any-expr", "--follow-imports=silent"]
    config = ["--config-file", "", "--cache-dir", str(cache), str(path)]
    return subprocess.run([*command, *config], cwd=ROOT / "src", capture_output=True, text=True)


@pytest.mark.heavy
def test_mypy_finds_no_any_in_a_program_of_public_names(tmp_path):
    result = check_types(PROGRAM, tmp_path / "cache")
    assert result.returncode == 0, result.stdout + result.stderr
    leak = tmp_path / "leak.py"
    leak.write_text(LEAK)
    assert 'has type "Any"' in check_types(leak, tmp_path / "cache").stdout


@pytest.mark.heavy
def test_the_typed_program_runs(tmp_path):
    spec = importlib.util.spec_from_file_location("public_program", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    lines = program.main(tmp_path)
    assert any("cannot" in line or "no-such-skill" in line for line in lines)
    assert (tmp_path / "report.html").is_file()


def test_the_typed_program_uses_every_public_name():
    import skillsv as sv

    text = PROGRAM.read_text()
    assert [name for name in sv.__all__ if f"sv.{name}" not in text] == []
