"""Attacks by programs that stay after the rollout: they leave the group, the session and the environment of the agent."""

import contextlib
import os
import shlex
import signal
import sys
import uuid
from pathlib import Path

import anyio
import pytest

from skillsv.agents.command import CommandAgent
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.process import Limits, run_program

SLEEP = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)"
FORK_TWICE = """
import os, sys
if not os.fork():
    os.setsid()
    if not os.fork():
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.closerange(3, 256)
        os.execve(sys.argv[1], sys.argv[1:], {})
    os._exit(0)
"""
WAIT = "while not __import__('os').path.exists({file!r}): __import__('time').sleep(0.01)"


@pytest.fixture
def word():
    """An argument of the program that stays, by which /proc shows whether it runs."""
    word = f"word-{uuid.uuid4().hex}"
    yield word
    for process in running(word):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def running(word):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def leave(how, word, started):
    """A shell script that leaves a program running in the given way, and waits until it has started."""
    stay = [sys.executable, "-c", SLEEP, str(started), word]
    line = {
        "background": f"{shlex.join(stay)} &",
        "setsid": f"setsid {shlex.join(stay)} &",
        "empty environment": f"env -i setsid {shlex.join(stay)} >/dev/null 2>&1 &",
        "daemon": shlex.join([sys.executable, "-c", FORK_TWICE, *stay]),
    }[how]
    return f"{line}\n{shlex.join([sys.executable, '-c', WAIT.format(file=str(started))])}"


WAYS = ["background", "setsid", "empty environment", "daemon"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
@pytest.mark.parametrize("end", ["echo answer", "exit 3"])
@pytest.mark.parametrize("how", WAYS)
def test_program_that_an_agent_leaves_ends_with_the_rollout(tmp_path, word, how, end):
    script = tmp_path / "agent.sh"
    script.write_text(f"{leave(how, word, tmp_path / 'started')}\n{end}\n")
    agent = CommandAgent(f"sh {shlex.quote(str(script))}", AgentOptions(folder=tmp_path))
    task = Task(id="t", input="?")

    async def run():
        async with fresh_workspace(task) as workspace:
            return await agent.run(None, task, 0, workspace)

    if end == "exit 3":
        with pytest.raises(AgentFailure, match="exit code 3"):
            anyio.run(run)
    else:
        assert anyio.run(run).answer == "answer\n"
    assert (tmp_path / "started").exists()
    assert running(word) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
def test_other_rollouts_at_the_same_time_are_not_ended(tmp_path, word):
    """The daemon of the first program must end, and the second program must not."""

    async def run():
        env = {"PATH": os.environ["PATH"]}
        first = ["sh", "-c", leave("daemon", word, tmp_path / "one")]
        gate = WAIT.format(file=str(tmp_path / "go"))
        second = [sys.executable, "-c", f"{gate}\nprint('untouched')"]
        results = []

        async def other():
            results.append(await run_program(second, cwd=tmp_path, env=env, limits=Limits()))

        async with anyio.create_task_group() as group:
            group.start_soon(other)
            await run_program(first, cwd=tmp_path, env=env, limits=Limits())
            (tmp_path / "go").touch()
        return results[0]

    assert anyio.run(run).stdout == b"untouched\n"
    assert running(word) == []
