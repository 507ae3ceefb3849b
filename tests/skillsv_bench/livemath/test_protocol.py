"""What a client is asked and what becomes of its words: prompts word for word, scripts, programs, a model."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.errors import AgentFailure
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv_bench.benchmark import Source
from skillsv_bench.conversation import Reply
from skillsv_bench.livemath import BENCHMARK
from skillsv_bench.livemath.agents import OneTurnAgent, system_message, user_message
from skillsv_bench.livemath.tasks import load

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text().removesuffix("\n")


def test_prompts_word_for_word(rendering):
    assert system_message(rendering("\n# Knots\n\n- Rank the options.\n\n")) == golden("system_with_skill")
    assert system_message(None) == golden("system_without")
    choices = [{"label": "A", "text": "A closed curve."}, {"label": "B", "text": "A rope."}]
    assert user_message("What is a knot?", choices) == golden("user")


def test_a_skill_of_no_words_has_no_section(rendering):
    assert system_message(rendering(" \n")) == system_message(None)


class Parrot:
    fingerprint = "parrot/1"

    def __init__(self) -> None:
        self.heard = []

    async def reply(self, messages, context, tools=()):
        self.heard.append((list(messages), context, list(tools)))
        return Reply(text="Surely <answer>C</answer>", usage=Usage(output_tokens=3))


def run(agent, skill, task, workspace, replicate=0) -> Outcome:
    return anyio.run(lambda: agent.run(skill, task, replicate, workspace))


def test_a_question_is_asked_once_and_without_tools(data, rendering, tmp_path):
    parrot, task = Parrot(), load(Source(data=data)).tasks[0]
    skill = rendering("Rank them.")
    outcome = run(OneTurnAgent(parrot), skill, task, tmp_path, replicate=3)
    [(messages, context, tools)] = parrot.heard
    assert [(message.role, message.text) for message in messages] == [
        ("system", system_message(skill)),
        ("user", task.input),
    ]
    assert tools == []
    assert (context.replicate, context.skill, context.task) == (3, skill, task)
    assert outcome.answer == "Surely <answer>C</answer>"
    assert outcome.usage.output_tokens == 3
    assert outcome.opened
    assert outcome.transcript.endswith("[assistant]\nSurely <answer>C</answer>")


def test_an_answer_that_the_token_limit_cut_is_named_as_such(data, tmp_path):
    class Cut(Parrot):
        async def reply(self, messages, context, tools=()):
            return Reply(text="Surely <answ", cut=True)

    task = load(Source(data=data)).tasks[0]
    assert run(OneTurnAgent(Parrot()), None, task, tmp_path).ending is Ending.ANSWERED
    assert run(OneTurnAgent(Cut()), None, task, tmp_path).ending is Ending.CUT


def test_the_fingerprint_names_protocol_and_speaker():
    assert OneTurnAgent(Parrot()).fingerprint == "livemath/1:parrot/1"


@pytest.mark.parametrize("form", ["{}", "<answer>{}</answer>", "so it is\n{}."])
def test_a_program_may_return_a_bare_label(data, rendering, tmp_path, form):
    (tmp_path / "agent.py").write_text(
        "def run(skill, task, replicate):\n"
        "    assert task.input.startswith('## Question') and task.metadata['choices']\n"
        f"    return {form!r}.format(task.target if skill else 'none')\n"
    )
    agent = BENCHMARK.make_agent("python:agent.py:run", AgentOptions(folder=tmp_path, show_target=True))
    verifier = BENCHMARK.verifier()
    for task in load(Source(data=data)).tasks:
        for skill, score in ((rendering("x"), 1.0), (None, 0.0)):
            outcome = run(agent, skill, task, tmp_path)
            assert anyio.run(verifier.score, task, outcome, tmp_path) == score


def test_a_program_that_crashes_is_no_wrong_answer(data, tmp_path):
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate):\n    raise ValueError('no')\n")
    agent = BENCHMARK.make_agent("python:agent.py:run", AgentOptions(folder=tmp_path))
    with pytest.raises(AgentFailure):
        run(agent, None, load(Source(data=data)).tasks[0], tmp_path)


def test_a_model_gets_the_two_messages(data, rendering, tmp_path, provider):
    from fake_provider import say

    provider.reply = lambda _: say("It is <answer>B</answer>")
    options = AgentOptions(chat=ChatOptions(base_url=provider.url))
    agent = BENCHMARK.make_agent("model:openai:any", options)
    task = load(Source(data=data)).tasks[0]
    skill = rendering("Rank them.")
    outcome = run(agent, skill, task, tmp_path)
    [request] = provider.requests
    assert [(message["role"], message["content"]) for message in request["messages"]] == [
        ("system", system_message(skill)),
        ("user", task.input),
    ]
    assert "tools" not in request
    assert outcome.answer == "It is <answer>B</answer>"
    assert outcome.usage.input_tokens == 100
