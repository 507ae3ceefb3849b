"""Attacks that carry a key of the user into the ledger, the report or the terminal.

The attacker makes an agent, a verifier or an error say the value of a variable: whole, or where a message is shortened.
"""

import sqlite3

import anyio
import pytest

from skillsv.cli import run
from skillsv.errors import AgentFailure, SettingsError, VerifierFailure
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import Outcome, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout.engine import MESSAGE_LIMIT, Job, LocalEngine
from skillsv.rollout.ledger import Ledger
from skillsv.sandbox import redaction
from skillsv.tasks import make_verifier

KEY = "sk-0123456789-abcdefghij-KLMNOPQRST"
LOGIN = "hunter2-hunter2-hunter2"
SKILL = "---\nname: tiny\ndescription: Words to say.\n---\n\n- Say `alpha`.\n- Say `beta`.\n"


@pytest.fixture(autouse=True)
def _secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_LOGIN", LOGIN)
    monkeypatch.setattr(redaction, "_forwarded", {})


class SayingAgent:
    fingerprint = "saying/1"

    def __init__(self, outcome):
        self.outcome = outcome

    async def run(self, _skill, _task, _replicate, _workspace):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class SayingVerifier:
    def __init__(self, error):
        self.error = error

    async def score(self, _task, _outcome, _workspace):
        raise self.error


def rollout(outcome, verifier):
    task = Task(id="t", input="?")
    bare = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="", files=(), digest="0")
    job = Job(key=RolloutKey(tree="0", task="t", agent="saying/1"), skill=bare, task=task)
    return anyio.run(LocalEngine(SayingAgent(outcome), verifier).run, job)


def holds_secret(value):
    return any(secret[:12] in repr(value) for secret in (KEY, LOGIN))


@pytest.mark.parametrize("secret", [KEY, LOGIN])
def test_answer_and_transcript_of_any_agent_are_redacted_before_verifying(secret):
    redaction.remember_forwarded(["MY_LOGIN"])
    seen = []

    class Verifier:
        async def score(self, _task, outcome, _workspace):
            seen.append(outcome)
            return 1.0

    done = rollout(Outcome(answer=f"it is {secret}.", transcript=f"> echo {secret}"), Verifier())
    assert done.score == 1.0
    assert not holds_secret(done)
    assert not holds_secret(seen)


@pytest.mark.parametrize(
    "error",
    [
        AgentFailure(f"refused: {KEY}"),
        AgentFailure("x" * (MESSAGE_LIMIT - 20) + KEY),
        ConnectionError(f"https://host/?key={KEY}"),
        RuntimeError("y" * (MESSAGE_LIMIT - 30) + LOGIN),
    ],
)
def test_message_of_a_failed_agent_is_redacted_before_it_is_shortened(error):
    redaction.remember_forwarded(["MY_LOGIN"])
    assert not holds_secret(rollout(error, None).failure.message)


@pytest.mark.parametrize("error", [VerifierFailure(f"said {KEY}"), ValueError("z" * (MESSAGE_LIMIT - 25) + KEY)])
def test_message_of_a_failed_verifier_is_redacted_before_it_is_shortened(error):
    assert not holds_secret(rollout(Outcome(answer="a"), SayingVerifier(error)).failure.message)


def test_error_that_ends_the_run_is_redacted():
    error = SettingsError(f"wrong key {KEY}", where=f"at {KEY}", hint=f"not {KEY}")
    with pytest.raises(SettingsError) as caught:
        rollout(error, None)
    assert not holds_secret([str(caught.value), caught.value.args, caught.value.hint, caught.value.where])


@pytest.mark.parametrize(
    "code",
    [
        f"import sys; sys.exit({('e' * 285 + KEY)!r})",
        f"print({('p' * 45 + KEY)!r})",
    ],
)
def test_output_of_a_program_that_verifies_is_redacted_before_it_is_shortened(tmp_path, code):
    (tmp_path / "check.py").write_text(code)
    task = Task(id="t", input="?", verifier="command:python3 check.py")
    verifier = make_verifier([task], folder=tmp_path)
    with pytest.raises(VerifierFailure) as caught:
        anyio.run(verifier.score, task, Outcome(answer=""), tmp_path)
    assert not holds_secret(str(caught.value))


def test_value_that_a_python_verifier_returns_is_redacted_before_it_is_shortened(tmp_path):
    (tmp_path / "check.py").write_text(f"def score(answer):\n    return {'v' * 44 + KEY!r}\n")
    task = Task(id="t", input="?", verifier="python:check.py:score")
    verifier = make_verifier([task], folder=tmp_path)
    with pytest.raises(VerifierFailure) as caught:
        anyio.run(verifier.score, task, Outcome(answer=""), tmp_path)
    assert not holds_secret(str(caught.value))


def value(folder, agent, *flags):
    (folder / "tiny").mkdir()
    (folder / "tiny" / "SKILL.md").write_text(SKILL)
    (folder / "agent.py").write_text(agent)
    (folder / "tasks.jsonl").write_text(
        "".join(f'{{"id": "t{n}", "input": "?", "target": "alpha"}}\n' for n in range(4))
    )
    return run(
        ["value", str(folder / "tiny"), "--tasks", str(folder / "tasks.jsonl"), "--agent", f"python:{folder}/agent.py:run",
         "--run-dir", str(folder / "run"), "--panel-b", "0", "--yes", "--verifier", "contains", *flags]
    )  # fmt: skip


def test_forwarded_value_in_an_answer_reaches_neither_files_nor_terminal(tmp_path, capsys):
    agent = (
        "import os\ndef run(skill, task, replicate):\n    print('log', os.environ['MY_LOGIN'])\n"
        "    return (skill.text if skill else '') + os.environ['MY_LOGIN'] + os.environ['OPENAI_API_KEY']\n"
    )
    assert value(tmp_path, agent, "--forward-env", "MY_LOGIN") == 0
    for path in (tmp_path / "run").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert LOGIN.encode() not in data, path
        assert KEY.encode() not in data, path
    query = "SELECT tree, task, agent, replicate FROM rollout"
    rows = sqlite3.connect(tmp_path / "run" / "ledger.sqlite").execute(query).fetchall()
    with Ledger.open(tmp_path / "run" / "ledger.sqlite", read_only=True) as ledger:  # it compresses long texts
        details = [ledger.detail(RolloutKey(tree=a, task=b, agent=c, replicate=d)) for a, b, c, d in rows]
    assert any("[MY_LOGIN]" in detail.answer for detail in details)
    assert not holds_secret(details)
    assert not holds_secret(capsys.readouterr())


def test_key_in_the_message_of_a_broken_agent_file_does_not_reach_the_terminal(tmp_path, capsys):
    assert (
        value(
            tmp_path,
            "import os\ndef run(skill, task): ...\nraise ValueError(os.environ['OPENAI_API_KEY'])\n",
            "--debug",
        )
        == 2
    )
    captured = capsys.readouterr()
    assert "ValueError" in captured.err
    assert not holds_secret(captured)
