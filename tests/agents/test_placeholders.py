"""`{input}` and `{skill}` in a command: one argument each, never a program text, never an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillsv.agents.placeholders import check_placeholders, fill_placeholders
from skillsv.errors import AgentFailure, SettingsError

SKILL = Path("/w/.skillsv/skills/faq")


def test_input_and_skill_are_filled_in_as_whole_arguments():
    argv = ["agent", "--skill", "{skill}", "--file={skill}/SKILL.md", "{input}"]
    filled = fill_placeholders(argv, "a b; $(touch x)", SKILL)
    assert filled == ["agent", "--skill", str(SKILL), f"--file={SKILL}/SKILL.md", "a b; $(touch x)"]


def test_the_bare_agent_gets_no_skill_argument_and_no_option_for_it():
    argv = ["agent", "-v", "--skill", "{skill}", "--file={skill}/SKILL.md", "{skill}", "--ask={input}"]
    assert fill_placeholders(argv, "hi", None) == ["agent", "-v", "--ask=hi"]


@pytest.mark.parametrize(
    "argv",
    [
        ["bash", "-c", "agent {input}"],
        ["agent", "question: {input}"],
        ["agent", "--say=please {input}"],
        ["{input}"],
        ["/usr/bin/bash", "-c", "{input}"],
        ["python3", "-c", "{input}"],
        ["node", "-e", "{input}"],
        ["sh", "-ec", "{input}"],
    ],
)
def test_an_input_that_could_be_executed_is_refused(argv):
    with pytest.raises(SettingsError, match=r"\{input\}"):
        check_placeholders(argv)


def test_an_input_after_the_text_of_a_shell_is_accepted():
    check_placeholders(["bash", "-c", 'agent "$1"', "bash", "{input}"])
    check_placeholders(["agent", "-c", "{input}", "--ask={input}"])


def test_an_input_that_looks_like_an_option_is_a_failure():
    with pytest.raises(AgentFailure, match="begins with `-`") as caught:
        fill_placeholders(["agent", "{input}"], "--yolo", None)
    assert caught.value.kind == "bad-request"
    assert fill_placeholders(["agent", "--", "{input}"], "--yolo", None) == ["agent", "--", "--yolo"]
    assert fill_placeholders(["agent", "--ask={input}"], "--yolo", None) == ["agent", "--ask=--yolo"]


def test_an_input_with_a_zero_byte_is_a_failure():
    with pytest.raises(AgentFailure, match="zero byte"):
        fill_placeholders(["agent", "{input}"], "a\0b", None)
