"""Responses without an answer are failures and never scored; cut answers are scored only on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.errors import AgentFailure, Unavailable, VerifierFailure
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.events import RolloutRetried
from skillsv.model.rollout import Ending, FailureKind, Outcome, Request, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.rollout import Ledger, LocalEngine, Runner, RunnerOptions, Timing

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

from fake_provider import say

from skillsv.tasks import make_verifier
from skillsv_bench.conversation import Message, RolloutContext
from skillsv_bench.model_client import ModelChatClient

TASK = Task(id="t", input="How did it go?", digest="digest")
REQUEST = Request(coalition=frozenset(), operator=Operator.DELETE, task="t")
BARE = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="s", main="SKILL.md", files=(), digest="x")


@dataclass
class Session:
    """One rollout of a model through the runner and its ledger."""

    provider: object
    folder: Path
    turns: int = 16
    tools: str = "none"
    score_cut: bool = False
    seen: list[str] = field(default_factory=list)
    events: list[object] = field(default_factory=list)

    async def score(self, task, outcome, workspace):
        self.seen.append(outcome.answer)
        return float("it went well" in outcome.answer)

    def run(self):
        """The score; raises Unavailable where there is none."""
        chat = ChatOptions(base_url=self.provider.url, tools=self.tools, turns=self.turns)
        agent = make_agent("model:openai:tiny", AgentOptions(timeout=20.0, chat=chat))
        self.key = RolloutKey(tree="x", task="digest", agent=agent.fingerprint)

        def policy():
            answers = yield (REQUEST,)
            return answers[REQUEST]

        async def go():
            with Ledger.open(self.folder / "ledger.sqlite") as ledger:
                options = RunnerOptions(attempts=3, timeout=20.0, score_cut=self.score_cut)
                timing = Timing(sleep=lambda _seconds: anyio.lowlevel.checkpoint())
                engine = LocalEngine(agent, self)
                self.runner = Runner(
                    engine, ledger, lambda *_: BARE, {"t": TASK}, agent.fingerprint, options, self.events.append,
                    timing=timing,
                )  # fmt: skip
                (score,) = await self.runner.run_policies([policy()])
                return score

        return anyio.run(go)

    @property
    def retried(self):
        return [event.kind for event in self.events if isinstance(event, RolloutRetried)]

    def ledger(self):
        return Ledger.open(self.folder / "ledger.sqlite", read_only=True)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("null", FailureKind.EMPTY_ANSWER),
        ("empty", FailureKind.EMPTY_ANSWER),
        ("blank", FailureKind.EMPTY_ANSWER),
        ("length-null", FailureKind.EMPTY_ANSWER),
        ("length-empty", FailureKind.EMPTY_ANSWER),
        ("finish-error", FailureKind.BAD_OUTPUT),
        ("finish-unknown", FailureKind.BAD_OUTPUT),
        ("filter", FailureKind.REFUSAL),
        ("filter-partial", FailureKind.REFUSAL),
    ],
)
@pytest.mark.parametrize("score_cut", [False, True])
def test_a_missing_answer_is_retried_and_never_scored(provider, tmp_path, fault, kind, score_cut):
    session = Session(provider, tmp_path, score_cut=score_cut)
    provider.faults = [fault] * 3
    with pytest.raises(Unavailable):
        session.run()
    assert session.retried == [kind, kind]
    assert session.seen == [], "the verifier did not run"
    with session.ledger() as ledger:
        assert ledger.failures() == {kind: 1}
        summary = ledger.summary()
    assert (summary.scored, summary.attempts, summary.cut) == (0, 3, 0)
    assert summary.usage == Usage(input_tokens=300, output_tokens=21), "failed attempts cost tokens"
    provider.faults = [fault]
    provider.reply = lambda _: say("it went well")
    assert session.run() == 1.0, "the next attempt has an answer"
    assert session.seen == ["it went well"]


def test_a_model_that_uses_all_tokens_without_text_gets_a_hint(provider, tmp_path):
    provider.faults = ["length-empty"] * 3
    with pytest.raises(Unavailable, match="all its 2048 tokens without an answer; raise --max-output-tokens"):
        Session(provider, tmp_path).run()


def test_a_cut_answer_is_a_failure_that_is_not_retried(provider, tmp_path):
    session = Session(provider, tmp_path)
    provider.faults = ["length"]
    with pytest.raises(
        Unavailable, match=r"cut by the token limit: 1\. Raise --max-output-tokens, .* --cut-answers score"
    ):
        session.run()
    assert (session.seen, session.retried, len(provider.requests)) == ([], [], 1)
    assert (session.runner.spending.failed, session.runner.spending.cut) == (1, 1)
    with session.ledger() as ledger:
        assert ledger.failures() == {FailureKind.CUT_ANSWER: 1}
        assert (ledger.summary().scored, ledger.summary().cut) == (0, 1)
        assert ledger.detail(session.key).answer == "it went well, as far as", "a person can read it"


def test_a_cut_answer_is_scored_on_request(provider, tmp_path):
    session = Session(provider, tmp_path, score_cut=True)
    provider.faults = ["length"]
    assert session.run() == 1.0
    assert (session.runner.spending.spent, session.runner.spending.cut) == (1, 1)
    with session.ledger() as ledger:
        assert (ledger.summary().scored, ledger.summary().cut) == (1, 1)
        assert ledger.lookup([session.key])[session.key].ending is Ending.CUT
    assert session.run() == 1.0
    assert (session.runner.spending.reused, session.runner.spending.cut) == (1, 1)


def test_a_stored_score_of_a_cut_answer_counts_only_with_score_cut(provider, tmp_path):
    provider.faults = ["length"]
    assert Session(provider, tmp_path, score_cut=True).run() == 1.0
    strict = Session(provider, tmp_path)
    with pytest.raises(Unavailable, match="--cut-answers score"):
        strict.run()
    assert len(provider.requests) == 1, "nothing is paid twice"
    assert (strict.runner.spending.failed, strict.runner.spending.cut) == (1, 1)
    assert Session(provider, tmp_path, score_cut=True).run() == 1.0
    assert len(provider.requests) == 1


@pytest.mark.parametrize(("words", "score"), [("it went well so far", 1.0), ("", 0.0), (None, 0.0)])
def test_an_answer_at_the_turn_limit_is_scored(provider, tmp_path, words, score):
    session = Session(provider, tmp_path, turns=3, tools="files")
    provider.reply = lambda _: say(words, [("list_files", "{}")])
    assert session.run() == score
    assert (session.seen, session.retried, len(provider.requests)) == ([words or ""], [], 3)
    with session.ledger() as ledger:
        assert ledger.lookup([session.key])[session.key].ending is Ending.TURN_LIMIT
        assert (ledger.summary().missing, ledger.summary().cut) == (0, 0)


def test_a_cut_tool_call_is_not_a_cut_answer(provider, tmp_path):
    session = Session(provider, tmp_path, tools="files")
    answers = [say(None, [("read_file", '{"path": ')], finish="length"), say("it went well")]
    provider.reply = lambda _: answers.pop(0)
    assert session.run() == 1.0
    assert session.runner.spending.cut == 0


@pytest.mark.parametrize("reason", ["eos", "eos_token", "stop_sequence", "end_turn"])
def test_synonyms_of_the_finish_reason_stop_are_known(provider, tmp_path, reason):
    provider.reply = lambda _: say("it went well", finish=reason)
    assert Session(provider, tmp_path).run() == 1.0


def test_a_benchmark_client_marks_cut_replies_and_fails_on_empty_ones(provider, tmp_path):
    client = ModelChatClient("openai:tiny", AgentOptions(chat=ChatOptions(base_url=provider.url)))
    situation = RolloutContext(skill=None, task=TASK, replicate=0, workspace=tmp_path)
    provider.faults = ["", "length", "empty"]

    async def reply():
        return await client.reply([Message(role="user", text="?")], situation)

    assert [anyio.run(reply).ending for _ in range(2)] == [Ending.ANSWERED, Ending.CUT]
    with pytest.raises(AgentFailure) as caught:
        anyio.run(reply)
    assert caught.value.kind == FailureKind.EMPTY_ANSWER


@pytest.mark.parametrize("fault", ["null", "empty", "length-empty", "length"])
def test_a_judge_without_a_complete_answer_fails_the_verifier(provider, tmp_path, fault):
    chat = ChatOptions(base_url=provider.url, tools="none")
    judge = make_agent("model:openai:tiny", AgentOptions(chat=chat))
    graded = Task(id="t", input="?", target=["it went well"], verifier="judge")
    verifier = make_verifier([graded], folder=tmp_path, judge=lambda _: judge)
    provider.reply = lambda _: say("1: yes")
    provider.faults = [fault]

    async def score():
        return await verifier.score(graded, Outcome(answer="x"), tmp_path)

    with pytest.raises(VerifierFailure):
        anyio.run(score)
    provider.reply = lambda _: say("1: yes", finish="length")
    with pytest.raises(VerifierFailure, match="token limit cut"):
        anyio.run(score)
    provider.reply = lambda _: say("1: yes")
    assert anyio.run(score) == 1.0
