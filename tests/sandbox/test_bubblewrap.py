"""Programs that try to get out of the sandbox, or to take more than their share."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from skillsv.errors import RolloutError
from skillsv.sandbox import bubblewrap
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, run_sandboxed, sandbox_trouble

LIMITS = replace(SANDBOX_LIMITS, seconds=30.0, memory_bytes=512 * 1024**2, file_bytes=1024**2, processes=16)


@pytest.fixture
def anywhere():
    """Like a rollout's: in the system's temporary folder (pytest's own is closed to others, which root becomes)."""
    with tempfile.TemporaryDirectory(prefix="skillsv-test-") as name:
        yield Path(name)


@pytest.fixture
def folder(anywhere):
    if trouble := sandbox_trouble():
        pytest.skip(trouble)
    return anywhere


@pytest.fixture
def mark():
    """A word among a program's arguments by which it is found from outside, whatever it does to be forgotten."""
    return f"mark-{uuid.uuid4().hex}"


def run(folder, code, limits=LIMITS):
    program = ["python3", "-c", code]
    return anyio.run(lambda: run_sandboxed(program, workspace=folder, limits=limits))


def printed(folder, code, limits=LIMITS):
    done = run(folder, code, limits)
    return done.stdout.decode().strip() or done.stderr.decode().strip()


def test_a_program_runs_in_its_folder_and_what_it_writes_stays(folder):
    (folder / "in.txt").write_text("given")
    assert (
        printed(folder, "import os; print(os.getcwd(), open('in.txt').read()); open('out.txt', 'w').write('made')")
        == "/task given"
    )
    assert (folder / "out.txt").read_text() == "made"
    assert run(folder, "raise SystemExit(7)").code == 7


def test_no_network(folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5); print('connected')"
        assert "ConnectionRefusedError" in printed(folder, code)
        assert "OSError" in printed(folder, "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)")
        assert (
            printed(
                folder, "import os; print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys') else 'none')"
            )
            == "none"
        )


def test_no_home_no_environment_and_no_folder_of_others(folder):
    with tempfile.TemporaryDirectory(prefix="skillsv-other-") as other:
        Path(other, "secret.txt").write_text("x")
        os.environ["SKILLSV_TEST_SECRET"] = "hunter2hunter2"
        try:
            code = (
                "import os\n"
                f"for path in ({other!r}, {str(Path.home())!r}, '/root', '/home', '/var', '/mnt', {str(Path(__file__).parent)!r}):\n"
                "    print(os.path.exists(path), end=' ')\n"
                "print(os.path.expanduser('~'), os.listdir('/tmp'), 'SKILLSV_TEST_SECRET' in os.environ)"
            )
            assert printed(folder, code) == "False " * 7 + "/tmp [] False"
        finally:
            del os.environ["SKILLSV_TEST_SECRET"]


def test_the_system_is_read_only(folder):
    code = (
        "import os\n"
        "for path in ('/usr/x', '/x', '/etc/x', '/dev/x', '/proc/sys/kernel/hostname'):\n"
        "    try:\n"
        "        open(path, 'w').write('x'); print('wrote', path)\n"
        "    except OSError as error:\n"
        "        print('no', end=' ')\n"
        "print([bool(os.statvfs(path).f_flag & os.ST_RDONLY) for path in ('/', '/usr', '/dev')])"
    )
    assert printed(folder, code) == "no no no no no [True, True, True]"


def test_the_processes_of_the_machine_are_not_there(folder):
    ours = os.getpid()
    code = (
        "import os\n"
        "pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]\n"
        f"print(len(pids) <= 4, os.getppid() <= 2, {ours} in pids)\n"
        "text = b''.join(open(f'/proc/{pid}/environ', 'rb').read() for pid in pids if os.access(f'/proc/{pid}/environ', os.R_OK))\n"
        "print(b'PYTEST_CURRENT_TEST' in text)"
    )
    assert printed(folder, code) == "True True False\nFalse"


def test_no_rights_inside(folder):
    code = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])"
    assert printed(folder, code) == "['0000000000000000']"
    done = anyio.run(lambda: run_sandboxed(["unshare", "-U", "true"], workspace=folder, limits=LIMITS))
    assert done.code != 0, "a new user namespace would give rights back"


def test_a_fork_bomb_is_stopped(folder):
    code = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    while made < 500:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "        made += 1\n"
        "except BlockingIOError:\n"
        "    print(made <= 16)\n"
    )
    done = run(folder, code)
    assert done.stdout.decode().strip() == "True"
    assert not done.timed_out, "the sleeping children ended with the program"


def test_a_shell_fork_bomb_ends_with_its_time(folder, mark):
    bomb = ["sh", "-c", "b() { b | b & }; b; sleep 60", mark]
    done = anyio.run(lambda: run_sandboxed(bomb, workspace=folder, limits=replace(LIMITS, seconds=1.0)))
    assert done.timed_out or done.code != 0
    assert _alive(mark) == []


def test_ten_gigabytes_of_memory_are_refused(folder):
    assert "MemoryError" in printed(folder, "x = bytearray(10 * 1024**3)")


@pytest.mark.parametrize("scratch", ["/tmp", "/dev/shm"])
def test_folders_that_lie_in_memory_hold_no_more_than_one_file_may(folder, scratch):
    code = (
        "import os\n"
        "for number in range(8):\n"
        f"    with open(f'{scratch}/{{number}}', 'wb') as stream:\n"
        "        stream.write(b'x' * 512 * 1024)"
    )
    assert "No space left on device" in printed(folder, code)


def test_a_file_of_ten_gigabytes_is_refused(folder):
    done = run(folder, "f = open('big', 'wb')\nfor _ in range(10240): f.write(b'x' * 1024**2)")
    assert done.code != 0
    assert (folder / "big").stat().st_size <= 1024**2


def test_output_without_end_is_cut_and_time_without_end_ends(folder):
    done = run(folder, "while True: print('x' * 1000)", replace(LIMITS, seconds=2.0, output_bytes=5000))
    assert done.timed_out
    assert done.truncated
    assert len(done.stdout) == 5000


def test_nothing_outlives_its_rollout(folder, mark):
    code = (
        "import subprocess, sys\n"
        "nothing = {name: subprocess.DEVNULL for name in ('stdin', 'stdout', 'stderr')}\n"
        f"late = ['setsid', 'nohup', sys.executable, '-c', 'import time; time.sleep(60)', {mark!r}]\n"
        "print(subprocess.Popen(late, env={}, **nothing).poll())"
    )
    assert printed(folder, code) == "None", "it ran when its parent ended"
    assert _alive(mark) == []


def test_a_cancelled_program_is_gone(folder, mark):
    async def cancelled():
        async with anyio.create_task_group() as group:
            program = ["sh", "-c", "touch started; sleep 60; exit", mark]
            group.start_soon(lambda: run_sandboxed(program, workspace=folder, limits=LIMITS))
            while not (folder / "started").exists():  # noqa: ASYNC110 - a program inside can set no event
                await anyio.sleep(0.01)
            assert _running(mark), "it is found while it runs"
            group.cancel_scope.cancel()

    anyio.run(cancelled)
    assert _alive(mark) == []


@pytest.mark.parametrize(("words", "code"), [("bwrap: broken", 1), ("setpriv: broken", 127)])
def test_a_program_cannot_pass_as_a_broken_sandbox(folder, words, code):
    done = run(folder, f"import sys; sys.stderr.write({words!r}); sys.exit({code})")
    assert done.code == code


def test_where_rights_cannot_be_given_up_it_is_trouble_of_the_sandbox(folder, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_as_nobody", lambda: ("setpriv", "--regid=no-such-group", "--"))
    with pytest.raises(RolloutError, match="no-such-group") as caught:
        run(folder, "print(1)")
    assert caught.value.kind == "sandbox"


def test_a_folder_that_cannot_be_entered_is_trouble_of_the_sandbox(folder):
    with pytest.raises(RolloutError) as caught:
        run(folder / "gone", "print(1)")
    assert caught.value.kind == "sandbox"


def test_where_bubblewrap_is_missing_a_sentence_says_so(monkeypatch, anywhere):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda *_, **__: None)
    assert "`bwrap` of the package bubblewrap is not installed" in bubblewrap._probe(anywhere)
    monkeypatch.setattr(bubblewrap.sys, "platform", "darwin")
    assert "Linux only" in bubblewrap._probe(anywhere)


def _alive(mark):
    """Processes that carry the mark in their words, given a moment to be collected."""
    for _ in range(100):
        if not (found := _running(mark)):
            break
        time.sleep(0.05)
    return found


def _running(mark):
    lines = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
    return [line for line in lines if mark in line]
