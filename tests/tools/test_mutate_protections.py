"""Every declared removal of a protection still applies to the source, and its tests exist."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("mutate_protections", ROOT / "tools" / "mutate_protections.py")
tool = importlib.util.module_from_spec(_SPEC)
sys.modules["mutate_protections"] = tool
_SPEC.loader.exec_module(tool)


@pytest.mark.parametrize("protection", tool.PROTECTIONS, ids=lambda protection: protection.name)
def test_every_removal_applies_and_names_existing_tests(protection):
    assert protection.source().read_text("utf-8").count(protection.text) == 1
    assert protection.without != protection.text
    for test in protection.tests.split():
        file, _, name = test.partition("::")
        assert (ROOT / file).exists()
        assert not name or re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_names_of_protections_differ():
    names = [protection.name for protection in tool.PROTECTIONS]
    assert len(set(names)) == len(names)
