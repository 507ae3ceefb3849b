"""Specifications of agents: the known kinds, and one sentence for all others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import SettingsError
from skillsv.model.protocols import Agent


def test_the_kinds_that_exist(tmp_path):
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate): return ''\n")
    options = AgentOptions(folder=tmp_path)
    for spec in ("python:agent.py:run", "command:sh -c true", "planted:rules"):
        assert isinstance(make_agent(spec, options), Agent)


@pytest.mark.parametrize("spec", ["", "magic:x", "python", "python:", "command:", "command:  ", "agent.py"])
def test_anything_else_is_refused_with_the_known_kinds(spec):
    with pytest.raises(SettingsError) as caught:
        make_agent(spec)
    known = "model:PROVIDER:NAME, command:PROGRAM ..., python:FILE.py:name, inspect:FILE.py@task, planted:NAME."
    assert f"is not an agent. Known: {known}" in str(caught.value)


def test_the_planted_agent_is_loaded_only_when_asked_for():
    code = "import sys, skillsv.agents; print('skillsv.agents.planted' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
