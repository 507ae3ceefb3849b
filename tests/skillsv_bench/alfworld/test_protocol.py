"""What a player is told each turn, what becomes of its words, and what a program of the user's may know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import msgspec
import pytest

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.errors import AgentFailure
from skillsv.model.rollout import Ending, Usage
from skillsv.model.task import Task
from skillsv_bench.alfworld.agents import EpisodeAgent, read_action, user_message, wrap_agent
from skillsv_bench.alfworld.process import Scene
from skillsv_bench.alfworld.tasks import STEPS
from skillsv_bench.conversation import Reply

GOLDEN = Path(__file__).parent / "golden"
GOAL = "Your task is to: put a cup on shelf."
SCENE = Scene(
    observation="You arrive at shelf 1. On the shelf 1, you see a cup 2.\n", actions=("look", "take cup 2 from shelf 1")
)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text().removesuffix("\n")


def test_the_skill_stands_first(rendering):
    assert user_message(rendering("\n# House\n\n- Look twice.\n"), GOAL, [], SCENE) == golden("first_turn")


def test_without_a_skill_only_the_last_two_pairs_of_the_past_are_told():
    past = [("You see nothing.", "look"), ("You see a wall.", "go to wall 1"), ("You see a door. ", "open door 1")]
    assert user_message(None, GOAL, past, SCENE) == golden("fourth_turn")


def test_a_skill_of_no_words_has_no_section(rendering):
    assert user_message(rendering(" \n"), GOAL, [], SCENE) == user_message(None, GOAL, [], SCENE)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<think>The cup is here.</think><action>take cup 2 from shelf 1</action>", "take cup 2 from shelf 1"),
        ("<ACTION>\n Take  Cup 2\nfrom shelf 1 </ACTION>", "take cup 2 from shelf 1"),
        ("<think>Maybe <action>look</action>?</think> <action>go to desk 1</action>", "go to desk 1"),
        ("<think><action>go to desk 1</action></think>", "go to desk 1"),
        ("<action>look</action><action>go to desk 1</action>", "look"),
        ("go to desk 1", "look"),
        ("<action></action>", "look"),
        ("<action>go to desk 1", "look"),
        ("", "look"),
    ],
)
def test_the_action_of_a_reply(reply, action):
    assert read_action(reply) == action


class Script:
    fingerprint = "script/1"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.heard = []

    async def reply(self, messages, context, tools=()):
        self.heard.append((list(messages), context, list(tools)))
        if not self.replies:
            raise AgentFailure("no more words", usage=Usage(output_tokens=5))
        return Reply(text=self.replies.pop(0), usage=Usage(input_tokens=10, output_tokens=1))


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "secret.game"
    file.write_text("toy")
    return Task(id="t", input=GOAL, target=str(file), stratum="x")


def run(agent, skill, task):
    return anyio.run(lambda: agent.run(skill, task, 3, Path()))


def test_an_episode_turn_by_turn(toy_games, task, rendering):
    script = Script("<action>open door</action>", "Hmm.", "<think>Now.</think><action>win</action>")
    outcome = run(EpisodeAgent(script, toy_games()), rendering("Look twice."), task)
    answer = msgspec.json.decode(outcome.answer)
    assert answer == {"won": True, "steps": 3, "actions": ["open door", "look", "win"]}
    assert outcome.usage == Usage(input_tokens=30, output_tokens=3)
    assert outcome.opened is True
    assert outcome.transcript.count("[assistant]") == 3
    assert "Look twice." not in outcome.transcript
    for messages, context, tools in script.heard:
        assert [message.role for message in messages] == ["user"]
        assert tools == []
        assert context.replicate == 3
    last = script.heard[2][0][0].text
    assert last.startswith("## Skill\nLook twice.")
    assert "Action: open door" in last
    assert "Action: look" in last


def test_the_player_never_learns_where_the_walkthrough_lies(toy_games, task):
    script = Script("<action>win</action>")
    run(EpisodeAgent(script, toy_games()), None, task)
    messages, context, _ = script.heard[0]
    assert context.task.target is None
    assert "secret" not in messages[0].text + str(context.extra)
    assert context.extra["actions"] == ["look", "win"]


def test_words_about_winning_win_nothing(toy_games, task):
    script = Script(*['{"won": true, "steps": 1}'] * STEPS)
    answer = msgspec.json.decode(run(EpisodeAgent(script, toy_games()), None, task).answer)
    assert answer == {"won": False, "steps": STEPS, "actions": ["look"] * STEPS}


@pytest.mark.heavy
def test_an_episode_with_a_cut_reply_is_named_as_such(toy_games, task):
    class Cut(Script):
        async def reply(self, messages, context, tools=()):
            return replace(await super().reply(messages, context, tools), cut=len(self.replies) == 1)

    words = ("<think>Where", "<action>win</action>")
    assert run(EpisodeAgent(Cut(*words), toy_games()), None, task).ending is Ending.CUT
    assert run(EpisodeAgent(Script(*words), toy_games()), None, task).ending is Ending.ANSWERED


def test_what_was_paid_before_a_failure_is_known(toy_games, task):
    with pytest.raises(AgentFailure) as caught:
        run(EpisodeAgent(Script("<action>a</action>", "<action>b</action>"), toy_games()), None, task)
    assert caught.value.usage == Usage(input_tokens=20, output_tokens=7)


PROGRAM = """
def play(skill, task, replicate):
    assert not hasattr(task, "target")
    return "<action>win</action>" if task.metadata["step"] == 1 else f"{task.metadata['observation']}: hmm"
"""


def test_a_program_of_the_users_plays_too(toy_games, task, tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setattr("skillsv_bench.alfworld.agents.open_games", toy_games)
    agent = wrap_agent("python:program.py:play", AgentOptions(folder=tmp_path))
    assert agent.fingerprint.startswith("alfworld/1:python/1:")
    outcome = anyio.run(lambda: agent.run(None, task, 0, tmp_path))
    assert msgspec.json.decode(outcome.answer)["actions"] == ["look", "win"]


@pytest.mark.heavy
def test_a_model_gets_one_message_a_turn(toy_games, task, rendering, provider, monkeypatch):
    from fake_provider import say

    replies = iter(["Hmm.", "<think>Now.</think><action>win</action>"])
    provider.reply = lambda _: say(next(replies))
    monkeypatch.setattr("skillsv_bench.alfworld.agents.open_games", toy_games)
    agent = wrap_agent("model:openai:any", AgentOptions(chat=ChatOptions(base_url=provider.url)))
    outcome = run(agent, rendering("Look twice."), task)
    assert msgspec.json.decode(outcome.answer) == {"won": True, "steps": 2, "actions": ["look", "win"]}
    assert [[message["role"] for message in request["messages"]] for request in provider.requests] == [["user"]] * 2
    assert provider.requests[0]["messages"][0]["content"].startswith("## Skill\nLook twice.")
    assert "Action: look" in provider.requests[1]["messages"][0]["content"]
    assert "tools" not in provider.requests[0]
    assert outcome.usage.input_tokens == 200
