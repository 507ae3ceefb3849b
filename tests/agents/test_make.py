"""Agents from specifications: known kinds, unknown kinds, and known prices."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent, price_known
from skillsv.errors import SettingsError
from skillsv.model.protocols import Agent


def test_every_kind_makes_an_agent(tmp_path):
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate): return ''\n")
    options = AgentOptions(folder=tmp_path)
    for spec in ("python:agent.py:run", "command:sh -c true", "planted:rules"):
        assert isinstance(make_agent(spec, options), Agent)


def test_rules_is_short_for_the_planted_agent_without_noise():
    assert make_agent("rules").fingerprint == make_agent("planted:rules").fingerprint == "planted:rules/1"


@pytest.mark.parametrize("spec", ["", "magic:x", "python", "python:", "command:", "command:  ", "agent.py"])
def test_an_unknown_specification_is_refused_with_the_known_kinds(spec):
    with pytest.raises(SettingsError) as caught:
        make_agent(spec)
    known = "model:PROVIDER:NAME, command:PROGRAM ..., python:FILE.py:name, inspect:FILE.py@task, "
    known += "planted:NAME, rules (short for planted:rules), claude-code:MODEL"
    assert f"is not an agent. Known: {known}" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        ("planted:rules", True),
        ("rules", True),
        ("reference", True),
        ("python:agent.py:run", False),
        ("command:sh", False),
    ],
)
def test_the_price_of_programs_is_unknown_and_of_planted_agents_zero(spec, known):
    assert price_known(spec, AgentOptions()) is known


def test_the_price_of_a_listed_model_is_known():
    pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")
    assert price_known("model:openai:gpt-4o", AgentOptions())
    assert not price_known("model:openai:no-such-model", AgentOptions())
    assert not price_known("model:openai:gpt-4o", AgentOptions(chat=ChatOptions(base_url="http://127.0.0.1:9/v1")))


def test_the_planted_agent_is_imported_only_on_use():
    code = "import sys, skillsv.agents; print('skillsv.agents.planted' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
