"""Attacks by `command:` agents and verifiers that the user put into the sandbox with `--sandbox-agent`.

Each attempt is a program of the agent or of the verifier. It has the network, and of the user's files only its own.
"""

import json
import os
import shlex
import socket
import sys
import threading
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.cli import run
from skillsv.errors import SettingsError, TaskError
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv.tasks import make_verifier

TASK = Task(id="t", input="?", target="right")


@pytest.fixture(autouse=True)
def _sandbox():
    if problem := find_sandbox_problem():
        pytest.skip(problem)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "secret.txt").write_text("the secret")
    return tmp_path


def answer_of(place, code, **options):
    (place / "agent.py").write_text(code)
    command = f"command:{shlex.quote(sys.executable)} agent.py"
    agent = make_agent(command, AgentOptions(folder=place, sandboxed=True, **options))

    async def answer():
        async with fresh_workspace(TASK) as workspace:
            outcome = await agent.run(None, TASK, 0, workspace)
            return outcome.answer

    return anyio.run(answer)


ATTEMPTS = {
    "a file beside the agent": "open({secret!r}).read()",
    "the folder of the agent": "__import__('os').listdir({place!r}) != ['agent.py'] or 1 / 0",
    "the home of the user": "open({home!r} + '/.bashrc').read()",
    "passwords": "open('/etc/shadow').read()",
    "the password list": "open('/etc/passwd').read()",
    "ssh keys": "open({home!r} + '/.ssh/id_rsa').read()",
    "environment of the parent": "open(f'/proc/{{__import__(\"os\").getppid()}}/environ').read() + str(1 / (2 < 1))",
    "a change of the agent": "open(__file__, 'a').write('x')",
    "a new file beside the agent": "open({place!r} + '/planted', 'w').write('x') and 'stopped: the folder is not the real one'",
    "a change of the system": "open('/usr/bin/planted', 'w').write('x')",
    "a link to the secret": "(__import__('os').symlink({secret!r}, 'l'), open('l').read())",
    "other workspaces": "[n for n in __import__('os').listdir('..') if n.startswith('skillsv-')][1]",
    "a mount": "1 / (__import__('ctypes').CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0)",
    "a new namespace": "__import__('subprocess').run(['unshare', '-r', 'true'], check=True)",
    "the debugger": "1 / (__import__('ctypes').CDLL(None).ptrace(16, 1, 0, 0) == 0)",
    "keys of the kernel": "1 / (__import__('ctypes').CDLL(None).syscall(250, 0, -3, 0) > 0)",
    "a device": "open('/dev/sda', 'rb').read(1)",
    "a process of the user": "__import__('os').kill({process}, 0)",
    "the docker socket": "__import__('socket').socket(1).connect('/var/run/docker.sock')",
    "root by setuid": "__import__('os').setuid(0) or 1 / (__import__('os').geteuid() and 0)",
}


@pytest.mark.parametrize("code", ATTEMPTS.values(), ids=ATTEMPTS)
def test_sandboxed_agent_reaches_nothing_of_the_user(place, code):
    values = {
        "secret": str(place / "secret.txt"),
        "place": str(place),
        "home": str(Path.home()),
        "process": os.getppid(),
    }
    program = f"try:\n    got = {code.format(**values)}\nexcept BaseException as e:\n    got = 'stopped'\nprint(got)\n"
    # A process of the user has another number in the sandbox, if any; the folder of the agent shows the agent alone.
    assert "stopped" in answer_of(place, program), code
    assert sorted(path.name for path in place.iterdir()) == ["agent.py", "secret.txt"]


def test_sandboxed_agent_answers_with_its_workspace_files_and_the_network(place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True)
        thread.start()
        code = (
            "import helper, os, socket, sys, json\n"
            "open('out.txt', 'w').write('x'); open(os.path.join(os.environ['HOME'], 'y'), 'w').write('y')\n"
            f"s = socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); got = s.recv(9).decode()\n"
            "print(got, helper.WORD, json.load(sys.stdin)['id'], os.environ['SKILLSV_TASK_ID'], os.getcwd() == os.path.dirname(os.environ['HOME']))\n"
        )
        (place / "helper.py").write_text("WORD = 'beside'\n")
        assert answer_of(place, code).split() == ["hello", "beside", "t", "t", "True"]
        thread.join(10)


def test_declared_files_are_visible_and_others_are_not(place):
    (place / "data").mkdir()
    (place / "data/table.txt").write_text("rows")
    code = f"print(open({str(place / 'data/table.txt')!r}).read())\n"
    assert answer_of(place, code, depends_on=("data",)).strip() == "rows"


def test_sandboxed_agent_is_another_agent(place):
    (place / "agent.py").write_text("print(1)\n")
    command = f"command:{shlex.quote(sys.executable)} agent.py"
    plain = make_agent(command, AgentOptions(folder=place)).fingerprint
    assert make_agent(command, AgentOptions(folder=place, sandboxed=True)).fingerprint != plain


def score_of(place, code, **options):
    (place / "check.py").write_text(code)
    task = Task(id="t", input="?", target="right", verifier=f"command:{shlex.quote(sys.executable)} check.py")
    verifier = make_verifier([task], folder=place, **options)

    async def score():
        async with fresh_workspace(task) as workspace:
            await anyio.Path(workspace / "out.txt").write_text("right")
            return await verifier.score(task, Outcome(answer="a"), workspace)

    return anyio.run(score)


def test_sandboxed_verifier_reads_the_workspace_and_no_other_file(place):
    code = (
        "import json, os, sys\n"
        f"assert not os.path.exists({str(place / 'secret.txt')!r})\n"
        "open(os.path.join(os.environ['HOME'], 'y'), 'w').write('y')\n"
        "print(float(open('out.txt').read() == json.load(sys.stdin)['task']['target']))\n"
    )
    assert score_of(place, code, sandbox_commands=True) == 1.0
    with pytest.raises(Exception, match="AssertionError"):
        score_of(place, code)


@pytest.mark.parametrize("spec", ["python:agent.py:run", "inspect:agent.py@task"])
def test_agents_in_this_process_cannot_be_sandboxed(place, spec):
    with pytest.raises(SettingsError, match="run in this process and cannot be sandboxed"):
        make_agent(spec, AgentOptions(folder=place, sandboxed=True))


def test_python_verifiers_cannot_be_sandboxed(place):
    (place / "check.py").write_text("def score(task, answer):\n    return 1.0\n")
    task = Task(id="t", input="?", verifier="python:check.py:score")
    with pytest.raises(TaskError, match="runs in this process and cannot be sandboxed"):
        make_verifier([task], folder=place, sandbox_commands=True)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--sandbox", "chroot"], "--sandbox chroot cannot be used"),
        (["--sandbox", "docker:--privileged"], "cannot be used"),
        (["--sandbox", "docker:"], "cannot be used"),
        (["--sandbox", "docker", "--no-sandbox"], "--no-sandbox contradicts --sandbox docker"),
        (["--sandbox", "none", "--sandbox-agent"], "--sandbox-agent needs a sandbox"),
        (["--no-sandbox", "--sandbox-agent"], "--sandbox-agent needs a sandbox"),
    ],
)
def test_contradicting_flags_are_refused(place, capsys, flags, said):
    (place / "SKILL.md").write_text("# Words\n\n- Say `alpha`.\n")
    assert run(["value", str(place), "--tasks", "x", "--agent", "rules", *flags]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("line", ['sandbox = "none"', "sandbox-agent = true"])
def test_no_file_chooses_the_sandbox(place, capsys, line):
    (place / "tiny").mkdir()
    (place / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n")
    (place / "skillsv.toml").write_text(line)
    (place / "tasks.jsonl").write_text(json.dumps({"id": "t", "input": "?", "target": "a"}))
    assert run(["plan", str(place / "tiny"), "--tasks", str(place / "tasks.jsonl"), "--agent", "rules"]) == 2
    assert "sandbox" in capsys.readouterr().err


@pytest.mark.heavy
def test_run_with_a_sandboxed_agent_and_verifier(place, capsys):
    (place / "tiny").mkdir()
    (place / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n- Mumble.\n")
    (place / "agent.sh").write_text('#!/bin/sh\nif [ -n "$SKILLSV_SKILL" ]; then cat "$SKILLSV_SKILL/SKILL.md"; fi\n')
    (place / "agent.sh").chmod(0o755)
    (place / "check.sh").write_text("#!/bin/sh\nif grep -q alpha; then echo 1; else echo 0; fi\n")
    (place / "check.sh").chmod(0o755)
    task = {"input": "?", "verifier": f"command:{place}/check.sh"}
    (place / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(4)))
    words = ["--tasks", str(place / "tasks.jsonl"), "--agent", f"command:{place}/agent.sh", "--sandbox-agent"]
    flags = ["-k", "1", "-b", "2", "--panel-b", "0", "--yes", "--quiet", "--run-dir", str(place / "run"), "--json"]
    assert run(["value", str(place / "tiny"), *words, *flags]) == 0
    assert json.loads(capsys.readouterr().out)["anchors"]["full"]["value"] == 1.0
