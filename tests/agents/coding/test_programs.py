"""What is read from the output of each program. The lines are those of the real programs, shortened."""

from __future__ import annotations

import json

import pytest

from skillsv.agents.coding import PROGRAMS
from skillsv.agents.coding.program import ModelChoice, ProgramOutput
from skillsv.agents.options import CODING_PROGRAMS
from skillsv.model.rollout import Ending

NAMES = frozenset({"harbor-codes"})


def lines(*events) -> str:
    return "\n".join(["a warning that is no JSON", *(json.dumps(event) for event in events), '{"cut'])


CLAUDE = (
    {"type": "system", "subtype": "init", "skills": ["harbor-codes"]},
    {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "harbor-codes"}}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Launching"}]}},
    {"type": "user", "message": {"content": "a text"}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "The code is 41."}]}},
    {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": "The code is 41.", "stop_reason": "end_turn", "total_cost_usd": 0.0105, "usage": {"input_tokens": 1700, "cache_creation_input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 60}},
)  # fmt: skip
CODEX = (
    {"type": "item.completed", "item": {"type": "error", "message": "Model metadata for `m1` not found."}},
    {"type": "item.completed", "item": {"type": "command_execution", "command": "/bin/bash -lc 'cat /task/.agents/skills/harbor-codes/SKILL.md'", "exit_code": 0}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "The code is 41."}},
    {"type": "turn.completed", "usage": {"input_tokens": 1800, "cached_input_tokens": 900, "output_tokens": 60}},
)  # fmt: skip
GEMINI = (
    {"type": "message", "role": "user", "content": "What?"},
    {"type": "message", "role": "assistant", "content": "I look it up.", "delta": True},
    {"type": "tool_use", "tool_name": "activate_skill", "tool_id": "a1", "parameters": {"name": "harbor-codes"}},
    {"type": "tool_result", "tool_id": "a1", "status": "success", "output": "activated"},
    {"type": "message", "role": "assistant", "content": "The code ", "delta": True},
    {"type": "message", "role": "assistant", "content": "is 41.", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 1800, "output_tokens": 60}},
)
OPENCODE = (
    {"type": "tool_use", "part": {"tool": "skill", "state": {"status": "completed", "input": {"name": "harbor-codes"}}}},
    {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": {"input": 800, "output": 30, "reasoning": 0, "cache": {"write": 0, "read": 100}}, "cost": 0.25}},
    {"type": "text", "part": {"text": "The code is 41."}},
    {"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 900, "output": 20, "reasoning": 10, "cache": {"write": 0, "read": 0}}, "cost": 0.25}},
)  # fmt: skip
PI = (
    {"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": "What?"}]}},
    {"type": "message_end", "message": {"role": "assistant", "content": [{"type": "toolCall"}], "usage": {"input": 900, "output": 30, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}, "stopReason": "toolUse"}},
    {"type": "tool_execution_start", "toolCallId": "c1", "toolName": "read", "args": {"path": "/task/.pi/skills/harbor-codes/SKILL.md"}},
    {"type": "tool_execution_end", "toolCallId": "c1", "toolName": "read", "isError": False},
    {"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "The code is 41."}], "usage": {"input": 900, "output": 30, "cost": {"total": 0}}, "stopReason": "stop"}},
)  # fmt: skip
MINI = {
    "info": {"model_stats": {"instance_cost": 0.0, "api_calls": 2}, "exit_status": "Submitted", "submission": "The code is 41.\n"},
    "messages": [
        {"role": "assistant", "extra": {"actions": [{"command": "ls"}], "response": {"usage": {"prompt_tokens": 900, "completion_tokens": 30}}}},
        {"role": "assistant", "extra": {"actions": [{"command": "echo"}], "response": {"usage": {"prompt_tokens": 900, "completion_tokens": 30}}}},
        {"role": "exit", "content": "The code is 41.\n"},
    ],
}  # fmt: skip
AIDER_CHAT = "> Aider v0.86.2\n\n#### skill\n#### What?\n\nThe code is 41.\n\n> Tokens: 900 sent, 30 received.\n"
AIDER_EVENTS = lines({"event": "launched"}, {"event": "message_send", "properties": {"prompt_tokens": 1800, "completion_tokens": 60, "cost": 0}})  # fmt: skip

ANSWERS = {
    "claude-code": ProgramOutput(stdout=lines(*CLAUDE), stderr="", code=0, skill_names=NAMES),
    "codex": ProgramOutput(stdout=lines(*CODEX), stderr="", code=0, skill_names=NAMES),
    "gemini": ProgramOutput(stdout=lines(*GEMINI), stderr="", code=0, skill_names=NAMES),
    "opencode": ProgramOutput(stdout=lines(*OPENCODE), stderr="", code=0, skill_names=NAMES),
    "pi": ProgramOutput(stdout=lines(*PI), stderr="", code=0, skill_names=NAMES),
    "mini-swe-agent": ProgramOutput(
        stdout="", stderr="", code=0, skill_names=NAMES, results={"trajectory.json": json.dumps(MINI)}
    ),
    "aider": ProgramOutput(
        stdout="", stderr="", code=0, skill_names=NAMES, results={"chat.md": AIDER_CHAT, "events.jsonl": AIDER_EVENTS}
    ),
}
TURNS_AND_COST = {
    "claude-code": (3, 0.0105),
    "codex": (None, None),
    "gemini": (None, None),
    "opencode": (2, 0.5),
    "pi": (2, None),
    "mini-swe-agent": (2, None),
    "aider": (1, None),
}


def test_the_names_of_the_table_are_those_that_are_known_without_it():
    assert tuple(PROGRAMS) == CODING_PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_answer_usage_and_opening_are_read(name):
    report = PROGRAMS[name].read(ANSWERS[name])
    assert (report.answer or "").strip() == "The code is 41."
    assert (report.usage.input_tokens, report.usage.output_tokens) == (1800, 60)
    assert (report.turns, report.usage.usd) == TURNS_AND_COST[name]
    assert (report.opened, report.error, report.ending) == (True, None, Ending.ANSWERED)


ERRORS = {
    "claude-code": (1, [{"type": "result", "subtype": "success", "is_error": True, "api_error_status": None, "result": "Failed to authenticate. API Error: 401 no"}]),
    "codex": (1, [{"type": "error", "message": "unexpected status 401 Unauthorized: no"}, {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized: no"}}]),
    "gemini": (145, [{"type": "result", "status": "error", "error": {"message": "[API Error: no]"}, "stats": {}}]),
    "opencode": (1, [{"type": "error", "error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}}]),
    "pi": (0, [{"type": "message_end", "message": {"role": "assistant", "content": [], "usage": {}, "stopReason": "error", "errorMessage": "401 no"}}]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_provider_is_no_answer(name):
    code, events = ERRORS[name]
    report = PROGRAMS[name].read(ProgramOutput(stdout=lines(*events), stderr="", code=code, skill_names=NAMES))
    assert (report.answer, report.opened) == (None, False)
    assert "no" in report.error


def test_errors_of_litellm_are_no_answers():
    info = {"exit_status": "AuthenticationError", "submission": ""}
    failed = {"info": info, "messages": [{"role": "exit", "content": "litellm.AuthenticationError: no"}]}
    output = ProgramOutput(stdout="", stderr="", code=1, results={"trajectory.json": json.dumps(failed)})
    report = PROGRAMS["mini-swe-agent"].read(output)
    assert (report.answer, report.status) == (None, 401)
    chat = "#### What?  \n> litellm.RateLimitError: no  \n> Retrying  \n"
    report = PROGRAMS["aider"].read(ProgramOutput(stdout="", stderr="", code=0, results={"chat.md": chat}))
    assert (report.answer, report.status) == (None, 429)


@pytest.mark.parametrize("name", PROGRAMS)
def test_output_without_any_event_has_no_answer(name):
    assert PROGRAMS[name].read(ProgramOutput(stdout="hello\n", stderr="", code=0)).answer is None


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "opencode", "pi"])
def test_another_skill_or_a_failed_call_does_not_count_as_opened(name):
    output = ANSWERS[name]
    other = ProgramOutput(stdout=output.stdout, stderr="", code=0, skill_names=frozenset({"other"}))
    assert not PROGRAMS[name].read(other).opened
    failed = (
        output.stdout.replace('"content": "Launching"', '"content": "no", "is_error": true')
        .replace('"exit_code": 0', '"exit_code": 1')
        .replace('"status": "success", "output"', '"status": "error", "output"')
        .replace('"status": "completed"', '"status": "error"')
        .replace('"isError": false', '"isError": true')
    )
    assert failed != output.stdout
    assert not PROGRAMS[name].read(ProgramOutput(stdout=failed, stderr="", code=0, skill_names=NAMES)).opened


def test_a_cut_answer_is_marked():
    cut = json.dumps({**CLAUDE[-1], "stop_reason": "max_tokens"})
    assert PROGRAMS["claude-code"].read(ProgramOutput(stdout=cut, stderr="", code=0)).ending is Ending.CUT


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_server_of_the_user_is_in_the_launch_and_no_key_is(name, monkeypatch):
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(key, "sk-secret-value")
    launch = PROGRAMS[name].launch(ModelChoice(name="local/m1", base_url="http://127.0.0.1:9/v1"))
    everything = json.dumps([launch.arguments, dict(launch.variables), dict(launch.home_files)])
    assert "127.0.0.1:9" in everything
    assert "sk-secret-value" not in everything
