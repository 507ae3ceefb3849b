"""The tools of a model agent: what they do, what they refuse, and whether they open the skill."""

from __future__ import annotations

import errno
import json
import os
import socket
import tempfile
from pathlib import Path

import anyio
import pytest
from fake_provider import say

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import FailureKind, RolloutKey, Usage
from skillsv.model.task import Task
from skillsv.rollout.engine import Job, LocalEngine
from skillsv.sandbox import bubblewrap

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

TASK = Task(id="t", input="Go.")
SKILL = "---\nname: numbers\ndescription: Facts about\n  numbers.\n---\n\n- Six times seven is 42.\n"


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="skillsv-test-") as name:
        yield Path(name)


class Script:
    """A model that calls these tools, one a turn, and then answers with what the last one returned."""

    def __init__(self, *calls):
        self.calls = [
            (name, arguments if isinstance(arguments, str) else json.dumps(arguments)) for name, arguments in calls
        ]
        self.seen = []

    def __call__(self, request):
        returned = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        self.seen = returned
        if len(returned) < len(self.calls):
            return say(None, [self.calls[len(returned)]])
        return say(returned[-1] if returned else "none")


def play(provider, folder, *calls, skill=None, task=TASK, **chat):
    script = provider.reply = Script(*calls)
    options = ChatOptions(**{"base_url": provider.url, "tools": "files", **chat})
    agent = make_agent("model:openai:tiny", AgentOptions(timeout=60.0, chat=options))
    return anyio.run(agent.run, skill, task, 0, folder), script.seen


def offered(request):
    return [tool["function"]["name"] for tool in request.get("tools") or []]


def test_files_are_listed_read_searched_and_written(provider, folder):
    (folder / "data").mkdir()
    (folder / "data" / "a.txt").write_text("one\nTWO\nthree\n")
    _, seen = play(
        provider,
        folder,
        ("list_files", {}),
        ("read_file", {"path": "data/a.txt", "first_line": 2, "lines": 1}),
        ("search_files", {"text": "two"}),
        ("write_file", {"path": "out/b.txt", "text": "made"}),
        ("read_file", {"path": "/task/out/b.txt"}),
    )
    assert seen == ["data/a.txt (14)", "TWO\n", "data/a.txt:2: TWO", "wrote out/b.txt", "made"]
    assert (folder / "out" / "b.txt").read_text() == "made"


def test_the_prompt_names_files_and_usage_counts_every_turn(provider, folder):
    (folder / "a.txt").write_text("x")
    outcome, _ = play(
        provider, folder, ("list_files", {}), task=Task(id="t", input="Go.", files={"a.txt": folder / "a.txt"})
    )
    assert provider.requests[0]["messages"][1]["content"] == "Go.\n\nFiles in the current folder: a.txt"
    assert outcome.usage.input_tokens == 200
    assert outcome.transcript.startswith("> list_files {}\na.txt (1)")


@pytest.mark.parametrize(("fault", "turns_paid"), [("500", 3), ("drop", 3), ("dribble", 3), ("filter", 4)])
def test_a_failed_rollout_has_the_usage_before_the_failure(provider, folder, fault, turns_paid):
    provider.faults = ["", "", "", fault]
    provider.reply = Script(*[("list_files", {})] * 5)
    options = ChatOptions(base_url=provider.url, tools="files")
    agent = make_agent("model:openai:tiny", AgentOptions(timeout=3.0, chat=options))
    with pytest.raises(AgentFailure) as caught:
        anyio.run(agent.run, None, TASK, 0, folder)
    assert caught.value.usage == Usage(input_tokens=100 * turns_paid, output_tokens=7 * turns_paid)


@pytest.mark.heavy
def test_a_rollout_with_a_timeout_has_the_usage_before_it(provider):
    provider.faults = ["", "", "dribble"]
    provider.reply = Script(*[("list_files", {})] * 5)
    rollout = run_rollout(provider, timeout=3.0, tools="files")
    assert rollout.failure.kind is FailureKind.TIMEOUT
    assert rollout.usage == Usage(input_tokens=200, output_tokens=14)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "link", "linked/passwd", "a\0b", "pipe", "."])
def test_a_path_outside_the_folder_is_not_read(provider, folder, path):
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "linked").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    _, seen = play(provider, folder, ("read_file", {"path": path}))
    assert seen[0].startswith("error: ")
    assert "root:" not in seen[0]


def test_odd_file_names_and_pipes_are_no_error(provider, folder):
    (folder / os.fsdecode(b"a\xff.txt")).write_text("hello")
    (folder / "b.txt").write_text("hello")
    os.mkfifo(folder / "pipe")
    _, seen = play(
        provider,
        folder,
        ("list_files", {}),
        ("search_files", {"text": "HELLO"}),
        ("read_file", {"path": "/task"}),
        ("read_file", {"path": "/taskb.txt"}),
    )
    assert seen[:2] == ["a?.txt (5)\nb.txt (5)\npipe (0)", "a?.txt:1: hello\nb.txt:1: hello"]
    assert seen[2].startswith("error: ")
    assert seen[3] == "error: /taskb.txt is outside the working folder."


def test_a_full_disk_is_a_failure_and_no_wrong_answer(provider, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("skillsv.agents.model.working_folder.os.fdopen", full)
    provider.reply = Script(("write_file", {"path": "a.txt", "text": "x"}))
    rollout = run_rollout(provider, tools="files")
    assert rollout.score is None
    assert rollout.failure.kind is FailureKind.DISK


@pytest.mark.parametrize("path", ["../x", "/etc/x", "link/x", "dangling", "."])
def test_a_path_outside_the_folder_is_not_written(provider, folder, path):
    with tempfile.TemporaryDirectory() as outside:
        (folder / "link").symlink_to(outside)
        (folder / "dangling").symlink_to(Path(outside) / "new")
        _, seen = play(provider, folder, ("write_file", {"path": path, "text": "x"}))
        assert seen[0].startswith("error: ")
        assert list(Path(outside).iterdir()) == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", '{"path": "a'),
        ("read_file", "[]"),
        ("read_file", '{"path": 3}'),
        ("read_file", "{}"),
        ("read_file", '{"path": "gone"}'),
        ("list_files", '{"folder": "gone"}'),
        ("fly", "{}"),
        ("run_shell", '{"command": "true"}'),  # not offered with `files`
    ],
)
def test_a_broken_call_gets_an_error_and_the_chat_goes_on(provider, folder, name, arguments):
    outcome, seen = play(provider, folder, (name, arguments))
    assert seen[0].startswith("error: ")
    assert outcome.answer == seen[0]


def test_a_model_that_only_calls_tools_answers_with_its_last_text(provider, folder):
    provider.reply = lambda _: say("hm", [("list_files", "{}")])
    agent = make_agent(
        "model:openai:tiny", AgentOptions(chat=ChatOptions(base_url=provider.url, tools="files", turns=3))
    )
    outcome = anyio.run(agent.run, None, TASK, 0, folder)
    assert outcome.answer == "hm"
    assert len(provider.requests) == 3


@pytest.mark.heavy
def test_programs_run_in_the_sandbox(provider, folder):
    if reason := bubblewrap.find_sandbox_problem():
        pytest.skip(reason)
    _, seen = play(
        provider,
        folder,
        ("run_python", {"code": "print(6 * 7); open('made.txt', 'w').write('x')"}),
        ("run_shell", {"command": "cat made.txt; echo; pwd; exit 3"}),
        ("run_shell", {"command": f"ls {Path.home()}"}),
        ("run_python", {"code": "while True: pass"}),
        ("read_file", {"path": "made.txt"}),
        tools="all",
        run_seconds=5.0,
    )
    assert seen[0] == "42"
    assert seen[1] == "x\n/task\n[exit code 3]"
    assert "No such file" in seen[2]
    assert seen[3] == "[stopped after 5 s]"
    assert seen[4] == "x"


ESCAPES = {
    "network": "import socket; socket.create_connection(('127.0.0.1', PORT), timeout=5)",
    "home": "import os; os.listdir(HOME)",
    "another rollout": "open(OTHER + '/secret.txt')",
    "the runner's memory": "open(f'/proc/{RUNNER}/environ', 'rb').read()",
    "fork bomb": "import os, time\nfor _ in range(500):\n    if not os.fork(): time.sleep(60)",
    "10 GB of memory": "bytearray(10 * 1024**3)",
    "a file of 10 GB": "f = open('big', 'wb')\nfor _ in range(10240): f.write(bytes(1024**2))",
    "time without end": "while True: pass",
}


@pytest.mark.parametrize("program", ESCAPES.values(), ids=ESCAPES)
def test_the_model_is_told_of_a_stopped_program_and_its_answer_is_scored(provider, program):
    if reason := bubblewrap.find_sandbox_problem():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="skillsv-") as other, socket.create_server(("127.0.0.1", 0)) as server:
        Path(other, "secret.txt").write_text("x")
        known = {"PORT": server.getsockname()[1], "HOME": str(Path.home()), "OTHER": other, "RUNNER": os.getpid()}
        head = "".join(f"{name} = {value!r}\n" for name, value in known.items())
        provider.reply = Script(("run_python", {"code": f"{head}{program}\nprint('it went well')"}))
        rollout = run_rollout(provider, tools="all", run_seconds=5.0)
    assert rollout.failure is None, "a forbidden action of a program is not a failure of the rollout"
    assert rollout.score == 0.0
    assert any(word in rollout.answer for word in ("Error", "[stopped after 5 s]"))
    assert "it went well" not in rollout.answer
    assert rollout.usage.input_tokens == 200


def test_a_broken_sandbox_is_a_failure_without_a_score(provider, monkeypatch):
    if reason := bubblewrap.find_sandbox_problem():
        pytest.skip(reason)
    monkeypatch.setattr(bubblewrap, "_system_mounts", lambda: ("--ro-bind", "/usr/gone", "/usr"))
    provider.reply = Script(("run_python", {"code": "print('it went well')"}))
    rollout = run_rollout(provider, tools="all")
    assert rollout.score is None
    assert rollout.failure.kind is FailureKind.SANDBOX
    assert "bubblewrap does not work here" in rollout.failure.message
    assert rollout.usage.input_tokens == 100, "the turn before the failure costs tokens"


class WentWell:
    """Scores 1 if the answer contains `it went well`."""

    async def score(self, task, outcome, workspace):
        return float("it went well" in outcome.answer)


def run_rollout(provider, timeout=60.0, **chat):
    """One rollout of the bare agent, as the runner records it."""
    options = ChatOptions(base_url=provider.url, **chat)
    agent = make_agent("model:openai:tiny", AgentOptions(timeout=timeout, chat=options))
    bare = Rendering(
        coalition=frozenset(), operator=Operator.DELETE, skill_name="s", main="SKILL.md", files=(), digest=""
    )
    key = RolloutKey(tree="x", task=TASK.digest, agent=agent.fingerprint)
    return anyio.run(LocalEngine(agent, WentWell()).run, Job(key=key, skill=bare, task=TASK, timeout=timeout))


def test_programs_without_the_sandbox_see_no_key(provider, folder, key):
    _, seen = play(provider, folder, ("run_shell", {"command": "env; pwd"}), tools="all", sandbox=False)
    assert str(folder.resolve()) in seen[0]
    assert key not in seen[0]


def test_programs_are_refused_without_a_sandbox_unless_allowed(provider, monkeypatch):
    monkeypatch.setattr("skillsv.agents.model.agent.find_sandbox_problem", lambda **_: "there is none.")
    chat = {"base_url": provider.url, "tools": "all"}
    with pytest.raises(SettingsError, match=r"cannot be sandboxed: there is none\. .*--no-sandbox"):
        make_agent("model:openai:tiny", AgentOptions(chat=ChatOptions(**chat)))
    make_agent("model:openai:tiny", AgentOptions(chat=ChatOptions(**chat, sandbox=False)))
    make_agent("model:openai:tiny", AgentOptions(chat=ChatOptions(base_url=provider.url, tools="files")))


def test_other_files_of_a_skill_in_the_prompt_can_be_read(provider, folder, rendering):
    skill = rendering(SKILL, references__more=b"deep")
    place = ".skillsv/skills/faq"
    _, seen = play(provider, folder, ("read_file", {"path": f"{place}/references/more"}), skill=skill)
    assert seen == ["deep"]
    assert f"Other files of this skill are in {place}." in provider.requests[0]["messages"][0]["content"]


def test_the_tools_are_the_same_with_and_without_the_skill(provider, folder, rendering):
    play(provider, folder, skill=rendering(SKILL))
    play(provider, folder)
    assert provider.requests[0]["tools"] == provider.requests[1]["tools"]
    assert offered(provider.requests[0]) == ["list_files", "read_file", "search_files", "write_file"]
    assert list(folder.iterdir()) == [], "a skill that is all in the prompt is not on disk"


def test_a_skill_on_disk_has_only_one_line_in_the_prompt(provider, folder, rendering):
    outcome, _ = play(provider, folder, skill=rendering(SKILL), deliver="files")
    prompt = provider.requests[0]["messages"][0]["content"]
    assert prompt.endswith("\n- numbers: Facts about numbers.")
    assert "42" not in json.dumps(provider.requests)
    assert outcome.opened is False
    assert "open_skill" in offered(provider.requests[0])


@pytest.mark.parametrize(
    "call",
    [
        ("open_skill", {"name": "numbers"}),
        ("read_file", {"path": ".claude/skills/faq/SKILL.md"}),
        ("search_files", {"text": "six times"}),
        ("run_shell", {"command": "cat .claude/skills/faq/SKILL.md"}),
    ],
)
def test_opening_the_skill_is_recorded(provider, folder, rendering, call):
    script = provider.reply = Script(call)
    chat = ChatOptions(base_url=provider.url, tools="all", deliver="files", sandbox=False)
    agent = make_agent("model:openai:tiny", AgentOptions(skill_dir=".claude/skills", chat=chat))
    outcome = anyio.run(agent.run, rendering(SKILL), TASK, 0, folder)
    assert outcome.opened is True
    assert "Six times seven is 42." in script.seen[0]


def test_reading_other_files_does_not_open_the_skill(provider, folder, rendering):
    (folder / "a.txt").write_text("nothing")
    outcome, _ = play(
        provider,
        folder,
        ("search_files", {"text": "absent"}),
        ("read_file", {"path": "a.txt"}),
        skill=rendering(SKILL),
        deliver="files",
    )
    assert outcome.opened is False


def test_the_bare_agent_has_no_skill_to_open(provider, folder):
    _, seen = play(provider, folder, ("open_skill", {"name": "numbers"}), deliver="files")
    assert seen[0].startswith("error: there is no tool open_skill")
    assert "skill" not in provider.requests[0]["messages"][0]["content"].lower()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# No frontmatter\n", "faq"),
        ("---\nname: [broken\n---\n", "faq"),
        ("---\ndescription: words\n---\n", "faq: words"),
        ("---\nname: n\n", "faq"),
        ("---\n- a list\n---\n", "faq"),
    ],
)
def test_the_line_that_announces_a_skill(rendering, text, line):
    from skillsv.agents.model.prompt import metadata_line

    assert metadata_line(rendering(text)) == line
