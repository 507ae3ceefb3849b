"""The loop of tools: what a client is told, when a rollout ends, and what becomes of its words."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.errors import AgentFailure
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv_bench.conversation import Reply, ToolCall
from skillsv_bench.officeqa import BENCHMARK
from skillsv_bench.officeqa.agents import ToolUsingAgent
from skillsv_bench.officeqa.prompt import system_message, user_message

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text().removesuffix("\n")


def test_prompts_word_for_word(rendering, tasks):
    assert system_message(rendering("# Habits\n\n- Mind the unit.\n")) == golden("system_with_skill")
    assert system_message(None) == system_message(rendering("\n")) == golden("system_without")
    assert tasks["VID0007"].input == golden("user")
    assert user_message("Why?", ["a.txt"], []) == "## Question\nWhy?\n\n## Documents\n- a.txt"


class Script:
    """Says these things one after the other, and the last one for ever."""

    fingerprint = "script/1"

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.tool_outputs = []

    async def reply(self, messages, context, tools=()):
        self.tool_outputs.append((list(messages), [tool.name for tool in tools]))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def asks(tool: str, text: str = "", **arguments) -> Reply:
    return Reply(text=text, calls=(ToolCall(id=tool, tool=tool, arguments=arguments),), usage=Usage(output_tokens=1))


def says(text: str) -> Reply:
    return Reply(text=text, usage=Usage(output_tokens=1))


def run(agent, task: Task, skill=None) -> Outcome:
    async def main() -> Outcome:
        async with fresh_workspace(task) as workspace:
            return await agent.run(skill, task, 0, workspace)

    return anyio.run(main)


def score(task: Task, outcome: Outcome) -> float:
    return anyio.run(BENCHMARK.verifier().score, task, outcome, Path())


def test_tools_are_called_until_an_answer_comes(tasks, rendering):
    task = tasks["VID0001"]
    document = "harbour_bulletin_1970_01.txt"
    script = Script(
        asks("glob", pattern="*"),
        asks("grep", literal="salt duty", path=document),
        says("Found: <answer>270,200</answer>"),
    )
    outcome = run(ToolUsingAgent(script), task, rendering("Mind the unit."))
    assert score(task, outcome) == 1.0
    assert outcome.usage.output_tokens == 3
    messages, tools = script.tool_outputs[-1]
    assert tools == ["glob", "read", "grep"]
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert messages[3].text == document
    assert messages[5].text.startswith("12: | Salt duty | 270,200 |")
    assert messages[5].call.id == "grep"
    assert "[grep]\n12: | Salt duty" in outcome.transcript
    assert outcome.opened


def test_several_calls_of_one_turn_are_all_answered(tasks):
    both = Reply(text="", calls=(asks("glob", pattern="*").calls[0], asks("read", path="../x").calls[0]))
    script = Script(both, says("<answer>1</answer>"))
    run(ToolUsingAgent(script), tasks["VID0001"])
    [listed, refused] = script.tool_outputs[-1][0][-2:]
    assert listed.text == "harbour_bulletin_1970_01.txt"
    assert refused.text.startswith("error: there is no document")


def test_the_documents_of_other_questions_cannot_be_read(tasks):
    script = Script(asks("read", path="harbour_bulletin_1977_10.txt"), says("<answer>1</answer>"))
    run(ToolUsingAgent(script), tasks["VID0001"])
    assert script.tool_outputs[-1][0][-1].text.startswith("error: there is no document")


@pytest.mark.parametrize("words", ["270,200", "", "I think it is 270,200."])
def test_a_turn_with_neither_call_nor_answer_is_a_wrong_answer(tasks, words):
    script = Script(asks("glob", pattern="*"), says(words), says("<answer>270,200</answer>"))
    outcome = run(ToolUsingAgent(script), tasks["VID0001"])
    assert len(script.tool_outputs) == 2  # it is not asked again
    assert score(tasks["VID0001"], outcome) == 0.0


def test_there_are_twenty_four_turns(tasks):
    endless = Script(asks("glob", pattern="*", text="<answer>270,200</answer>"))
    outcome = run(ToolUsingAgent(endless), tasks["VID0001"])
    assert len(endless.tool_outputs) == 24
    assert outcome.usage.output_tokens == 24
    assert (outcome.answer, score(tasks["VID0001"], outcome)) == ("", 0.0)


def test_the_outcome_says_how_it_ended(tasks):
    task = tasks["VID0007"]
    whole, cut = says("<answer>1</answer>"), Reply(text="<answer>1", cut=True)
    assert run(ToolUsingAgent(Script(whole)), task).ending is Ending.ANSWERED
    assert run(ToolUsingAgent(Script(asks("glob", pattern="*"), cut)), task).ending is Ending.CUT
    assert run(ToolUsingAgent(Script(asks("glob", pattern="*"))), task).ending is Ending.TURN_LIMIT


def test_an_answer_in_the_last_turn_counts(tasks):
    script = Script(*[asks("glob", pattern="*")] * 23, says("<answer>270,200</answer>"))
    assert score(tasks["VID0001"], run(ToolUsingAgent(script), tasks["VID0001"])) == 1.0


def test_running_out_of_time_is_no_wrong_answer(tasks):
    class Sleeper(Script):
        async def reply(self, messages, context, tools=()):
            await anyio.sleep_forever()

    with pytest.raises(AgentFailure) as told:
        run(ToolUsingAgent(Sleeper(says("")), timeout=0.0), tasks["VID0001"])
    assert told.value.kind == FailureKind.TIMEOUT


def test_a_program_finds_the_documents_in_its_folder(tasks, tmp_path):
    (tmp_path / "agent.py").write_text(
        "def run(skill, task, replicate):\n"
        "    assert task.input.startswith('## Question')\n"
        "    text = (task.folder / 'harbour_bulletin_1970_01.txt').read_text()\n"
        "    row = next(line for line in text.splitlines() if line.startswith('| Salt'))\n"
        "    return f'<answer>{row.split(chr(124))[2]}</answer>'\n"
    )
    agent = BENCHMARK.make_agent("python:agent.py:run", AgentOptions(folder=tmp_path))
    assert agent.fingerprint.startswith("officeqa/1:python/1:")
    assert score(tasks["VID0001"], run(agent, tasks["VID0001"])) == 1.0


def test_a_model_calls_the_tools_by_its_providers_protocol(tasks, rendering, provider):
    from fake_provider import say

    def reply(request):
        tool_outputs = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        if not tool_outputs:
            arguments = {"literal": "Salt duty", "path": "harbour_bulletin_1970_01.txt"}
            return say(None, [("grep", json.dumps(arguments)), ("read", "{")])
        return say(f"<answer>{tool_outputs[0].split('|')[2].strip()}</answer>")

    provider.reply = reply
    agent = BENCHMARK.make_agent("model:openai:any", AgentOptions(chat=ChatOptions(base_url=provider.url)))
    skill = rendering("Mind the unit.")
    outcome = run(agent, tasks["VID0001"], skill)
    assert score(tasks["VID0001"], outcome) == 1.0
    first, second = provider.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["glob", "read", "grep"]
    assert first["messages"][0] == {"role": "system", "content": system_message(skill)}
    assert second["messages"][-1]["content"].startswith("error: ")  # arguments that were no JSON
    assert outcome.usage.input_tokens == 200
