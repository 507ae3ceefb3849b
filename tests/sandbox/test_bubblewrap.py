"""The bubblewrap sandbox: programs that try to leave it or to exceed its limits, and extra Python packages."""

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
from skillsv.sandbox.bubblewrap import (
    SANDBOX_LIMITS,
    SandboxOptions,
    find_sandbox_problem,
    run_sandboxed,
    sandbox_python,
)

LIMITS = replace(SANDBOX_LIMITS, seconds=30.0, memory_bytes=512 * 1024**2, file_bytes=1024**2, processes=16)


@pytest.fixture
def temporary():
    """A folder in the system's temporary folder, as for a rollout. The user `nobody` cannot enter pytest's folders."""
    with tempfile.TemporaryDirectory(prefix="skillsv-test-") as name:
        yield Path(name)


@pytest.fixture
def folder(temporary):
    if problem := find_sandbox_problem():
        pytest.skip(problem)
    return temporary


@pytest.fixture
def packages(folder):
    """A folder with a workspace, two Python packages that programs receive, and one that they do not receive."""
    folder.chmod(0o755)
    for part in ("work", "given/abacus", "hidden/ledger"):
        (folder / part).mkdir(parents=True)
    (folder / "given/abacus/__init__.py").write_text("beads = 10\n")
    (folder / "given/frame.py").write_text("bars = 3\n")
    (folder / "hidden/ledger/__init__.py").write_text("")
    return folder


@pytest.fixture
def unique_word():
    """An argument of a program by which `ps` finds it, also after it has left its session or environment."""
    return f"word-{uuid.uuid4().hex}"


def run(folder, code, limits=LIMITS):
    program = ["python3", "-c", code]
    return anyio.run(lambda: run_sandboxed(program, workspace=folder, limits=limits))


def run_with_packages(folder, code, packages):
    program = ["python3", "-c", code]
    options = SandboxOptions(packages=tuple(folder / package for package in packages))
    return anyio.run(lambda: run_sandboxed(program, workspace=folder / "work", limits=SANDBOX_LIMITS, options=options))


def printed(folder, code, limits=LIMITS):
    done = run(folder, code, limits)
    return done.stdout.decode().strip() or done.stderr.decode().strip()


def test_program_reads_and_writes_its_workspace(folder):
    (folder / "in.txt").write_text("given")
    assert (
        printed(folder, "import os; print(os.getcwd(), open('in.txt').read()); open('out.txt', 'w').write('made')")
        == "/task given"
    )
    assert (folder / "out.txt").read_text() == "made"
    assert run(folder, "raise SystemExit(7)").code == 7


def test_program_has_no_network(folder):
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


def test_home_environment_and_other_folders_are_hidden(folder):
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


def test_system_is_read_only(folder):
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


def test_processes_of_the_machine_are_hidden(folder):
    ours = os.getpid()
    code = (
        "import os\n"
        "pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]\n"
        f"print(len(pids) <= 4, os.getppid() <= 2, {ours} in pids)\n"
        "text = b''.join(open(f'/proc/{pid}/environ', 'rb').read() for pid in pids if os.access(f'/proc/{pid}/environ', os.R_OK))\n"
        "print(b'PYTEST_CURRENT_TEST' in text)"
    )
    assert printed(folder, code) == "True True False\nFalse"


def test_program_has_no_capabilities(folder):
    code = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')])"
    assert printed(folder, code) == "['0000000000000000']"
    done = anyio.run(lambda: run_sandboxed(["unshare", "-U", "true"], workspace=folder, limits=LIMITS))
    assert done.code != 0, "a new user namespace would restore capabilities"


def test_fork_bomb_reaches_the_limit_on_processes(folder):
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


def test_shell_fork_bomb_ends_with_its_time_limit(folder, unique_word):
    bomb = ["sh", "-c", "b() { b | b & }; b; sleep 60", unique_word]
    done = anyio.run(lambda: run_sandboxed(bomb, workspace=folder, limits=replace(LIMITS, seconds=1.0)))
    assert done.timed_out or done.code != 0
    assert _wait_for_end(unique_word) == []


def test_memory_over_the_limit_is_refused(folder):
    assert "MemoryError" in printed(folder, "x = bytearray(10 * 1024**3)")


@pytest.mark.parametrize("scratch", ["/tmp", "/dev/shm"])
def test_scratch_folder_holds_no_more_than_the_file_limit(folder, scratch):
    code = (
        "import os\n"
        "for number in range(8):\n"
        f"    with open(f'{scratch}/{{number}}', 'wb') as stream:\n"
        "        stream.write(b'x' * 512 * 1024)"
    )
    assert "No space left on device" in printed(folder, code)


def test_file_over_the_limit_is_refused(folder):
    done = run(folder, "f = open('big', 'wb')\nfor _ in range(10240): f.write(b'x' * 1024**2)")
    assert done.code != 0
    assert (folder / "big").stat().st_size <= 1024**2


@pytest.mark.heavy
def test_endless_output_is_truncated_and_ended_by_the_time_limit(folder):
    done = run(folder, "while True: print('x' * 1000)", replace(LIMITS, seconds=2.0, output_bytes=5000))
    assert done.timed_out
    assert done.truncated
    assert len(done.stdout) == 5000


def test_detached_descendants_end_with_the_program(folder, unique_word):
    code = (
        "import subprocess, sys\n"
        "nothing = {name: subprocess.DEVNULL for name in ('stdin', 'stdout', 'stderr')}\n"
        f"late = ['setsid', 'nohup', sys.executable, '-c', 'import time; time.sleep(60)', {unique_word!r}]\n"
        "print(subprocess.Popen(late, env={}, **nothing).poll())"
    )
    assert printed(folder, code) == "None", "the descendant was still running when its parent ended"
    assert _wait_for_end(unique_word) == []


def test_cancelled_program_is_ended(folder, unique_word):
    async def cancelled():
        async with anyio.create_task_group() as group:
            program = ["sh", "-c", "touch started; sleep 60; exit", unique_word]
            group.start_soon(lambda: run_sandboxed(program, workspace=folder, limits=LIMITS))
            while not (folder / "started").exists():  # noqa: ASYNC110 - a program in the sandbox cannot set an event
                await anyio.sleep(0.01)
            assert _running(unique_word), "ps must find the program while it runs"
            group.cancel_scope.cancel()

    anyio.run(cancelled)
    assert _wait_for_end(unique_word) == []


@pytest.mark.parametrize(("words", "code"), [("bwrap: broken", 1), ("setpriv: broken", 127)])
def test_program_cannot_imitate_a_broken_sandbox(folder, words, code):
    done = run(folder, f"import sys; sys.stderr.write({words!r}); sys.exit({code})")
    assert done.code == code


def test_failing_setpriv_is_a_sandbox_failure(folder, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_as_nobody", lambda: ("setpriv", "--regid=no-such-group", "--"))
    with pytest.raises(RolloutError, match="no-such-group") as caught:
        run(folder, "print(1)")
    assert caught.value.kind == "sandbox"


def test_missing_workspace_is_a_sandbox_failure(folder):
    with pytest.raises(RolloutError) as caught:
        run(folder / "missing", "print(1)")
    assert caught.value.kind == "sandbox"


def test_missing_bubblewrap_is_reported(monkeypatch, temporary):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda *_, **__: None)
    assert "`bwrap` of the package bubblewrap is not installed" in bubblewrap._probe(temporary)
    monkeypatch.setattr(bubblewrap.sys, "platform", "darwin")
    assert "Linux only" in bubblewrap._probe(temporary)


def test_program_imports_only_the_packages_that_it_receives(packages):
    given = ["given/abacus", "given/frame.py"]
    assert (
        run_with_packages(packages, "import abacus, frame; print(abacus.beads * frame.bars)", given).stdout == b"30\n"
    )
    assert b"No module named 'frame'" in run_with_packages(packages, "import frame", ["given/abacus"]).stderr
    assert b"No module named 'ledger'" in run_with_packages(packages, "import ledger", given).stderr
    assert b"No module named 'abacus'" in run_with_packages(packages, "import abacus", []).stderr


def test_program_cannot_change_a_package(packages):
    code = "import abacus, pathlib; pathlib.Path(abacus.__file__).write_text('beads = 0')"
    assert b"Read-only file system" in run_with_packages(packages, code, ["given/abacus"]).stderr
    new_file = "open('/packages/new.py', 'w')"
    assert b"Read-only file system" in run_with_packages(packages, new_file, ["given/abacus"]).stderr
    assert (packages / "given/abacus/__init__.py").read_text() == "beads = 10\n"


def test_missing_package_is_a_sandbox_failure(packages):
    with pytest.raises(RolloutError, match="bubblewrap does not work here") as caught:
        run_with_packages(packages, "print(1)", ["given/absent"])
    assert caught.value.kind == "sandbox"
    assert "absent" in (find_sandbox_problem((packages / "given/absent",)) or "")
    assert find_sandbox_problem((packages / "given/abacus",)) is None


def test_sandbox_python_names_the_python_in_the_sandbox(packages):
    tag = "import sys; print(sys.implementation.cache_tag)"
    python = sandbox_python()
    assert python is not None
    outside = subprocess.run([python, "-c", tag], capture_output=True, check=True).stdout
    assert run_with_packages(packages, tag, []).stdout == outside


def _wait_for_end(word):
    """Wait up to five seconds for the end of all processes with this argument; those that still run."""
    for _ in range(100):
        if not (running := _running(word)):
            break
        time.sleep(0.05)
    return running


def _running(word):
    lines = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
    return [line for line in lines if word in line]
