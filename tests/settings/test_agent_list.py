"""The list of agents of a matrix, as people write it."""

import pytest

from skillsv.settings.values import read_agent_list


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("model:openai:a,model:openai:b", ["model:openai:a", "model:openai:b"]),
        ("command:./run.sh --words a,b, python:agent.py:f", ["command:./run.sh --words a,b", "python:agent.py:f"]),
        ("rules,claude-code:opus", ["rules", "claude-code:opus"]),
        ("planted:easy,rules", ["planted:easy", "rules"]),
        ("", []),
    ],
)
def test_a_comma_divides_agents_only_before_another_agent(text, agents):
    assert read_agent_list(text, "agents") == agents
