"""Python packages that are lent to a sandboxed program."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import anyio
import pytest

from skillsv.errors import RolloutError
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, run_sandboxed, sandbox_python, sandbox_trouble


@pytest.fixture
def folder():
    if trouble := sandbox_trouble():
        pytest.skip(trouble)
    with tempfile.TemporaryDirectory(prefix="skillsv-test-") as name:
        Path(name).chmod(0o755)
        for part in ("work", "lent/abacus", "kept/ledger"):
            (Path(name) / part).mkdir(parents=True)
        (Path(name) / "lent/abacus/__init__.py").write_text("beads = 10\n")
        (Path(name) / "lent/frame.py").write_text("bars = 3\n")
        (Path(name) / "kept/ledger/__init__.py").write_text("")
        yield Path(name)


def run(folder, code, packages):
    program = ["python3", "-c", code]
    limits = SANDBOX_LIMITS
    return anyio.run(
        lambda: run_sandboxed(
            program, workspace=folder / "work", limits=limits, packages=[folder / p for p in packages]
        )
    )


def test_a_program_imports_what_it_is_lent_and_nothing_beside_it(folder):
    lent = ["lent/abacus", "lent/frame.py"]
    assert run(folder, "import abacus, frame; print(abacus.beads * frame.bars)", lent).stdout == b"30\n"
    assert b"No module named 'frame'" in run(folder, "import frame", ["lent/abacus"]).stderr
    assert b"No module named 'ledger'" in run(folder, "import ledger", lent).stderr
    assert b"No module named 'abacus'" in run(folder, "import abacus", []).stderr


def test_what_is_lent_cannot_be_changed(folder):
    code = "import abacus, pathlib; pathlib.Path(abacus.__file__).write_text('beads = 0')"
    assert b"Read-only file system" in run(folder, code, ["lent/abacus"]).stderr
    assert b"Read-only file system" in run(folder, "open('/packages/new.py', 'w')", ["lent/abacus"]).stderr
    assert (folder / "lent/abacus/__init__.py").read_text() == "beads = 10\n"


def test_a_package_that_is_not_there_is_trouble_of_the_sandbox_and_not_of_the_program(folder):
    with pytest.raises(RolloutError, match="bubblewrap does not work here") as caught:
        run(folder, "print(1)", ["lent/absent"])
    assert caught.value.kind == "sandbox"
    assert "absent" in (sandbox_trouble((folder / "lent/absent",)) or "")
    assert sandbox_trouble((folder / "lent/abacus",)) is None


def test_the_python_inside_is_the_one_that_is_named(folder):
    tag = "import sys; print(sys.implementation.cache_tag)"
    python = sandbox_python()
    assert python is not None
    outside = subprocess.run([python, "-c", tag], capture_output=True, check=True).stdout
    assert run(folder, tag, []).stdout == outside
