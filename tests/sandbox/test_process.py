"""Programs run within their limits and are ended with all descendants."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from skillsv.sandbox.process import Limits, ProgramResult, _Head, limit_command, run_program

QUICK = Limits(seconds=20.0, grace=0.2)


def run(
    code: str, folder: Path, *, limits: Limits = QUICK, stdin: bytes = b"", env: dict[str, str] | None = None
) -> ProgramResult:
    argv = [sys.executable, "-I", "-S", "-c", code]
    return anyio.run(partial(run_program, argv, cwd=folder, env=env or {}, stdin=stdin, limits=limits))


def has_ended(pid: int) -> bool:
    """Whether a process has ended. A zombie counts as ended."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_output_exit_code_and_stdin_are_passed_on(tmp_path):
    done = run(
        "import sys; print(sys.stdin.read().upper()); print('oh', file=sys.stderr); sys.exit(3)", tmp_path, stdin=b"hi"
    )
    assert (done.code, done.stdout, done.stderr) == (3, b"HI\n", b"oh\n")
    assert not done.timed_out
    assert not done.truncated
    assert done.duration > 0


def test_program_runs_in_the_folder_with_exactly_the_given_environment(tmp_path):
    code = "import os; print(os.getcwd()); print(sorted(os.environ))"
    lines = run(code, tmp_path, env={"ONLY": "this"}).stdout.decode().splitlines()
    assert lines[0] == str(tmp_path.resolve())
    assert set(eval(lines[1])) - {"LC_CTYPE", "PWD", "SHLVL", "_"} == {"ONLY", "SKILLSV_ROLLOUT"}


def test_words_are_passed_as_arguments_and_not_parsed_by_a_shell(tmp_path):
    argv = [sys.executable, "-I", "-S", "-c", "import sys; print(sys.argv[1:])", "$(touch x); `touch x`", "a b", "*"]
    limits = Limits(seconds=20.0, file_bytes=1 << 20)
    done = anyio.run(partial(run_program, argv, cwd=tmp_path, env={}, limits=limits))
    assert eval(done.stdout) == ["$(touch x); `touch x`", "a b", "*"]
    assert list(tmp_path.iterdir()) == []


def test_missing_program_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        anyio.run(partial(run_program, [str(tmp_path / "none")], cwd=tmp_path, env={}, limits=QUICK))


def shell(script: str, folder: Path, *, limits: Limits) -> ProgramResult:
    """Run a shell script. Reading `fifo` in its folder blocks for ever. A shell starts within a millisecond."""
    os.mkfifo(folder / "fifo")
    env = {"PATH": os.environ["PATH"]}
    return anyio.run(partial(run_program, ["/bin/sh", "-c", script], cwd=folder, env=env, limits=limits))


def test_program_over_its_time_limit_is_ended(tmp_path):
    done = shell("echo $$; exec cat fifo", tmp_path, limits=Limits(seconds=1.0, grace=10.0))
    assert done.timed_out
    assert done.code == -signal.SIGTERM
    assert has_ended(int(done.stdout))


def test_program_that_ignores_sigterm_is_killed(tmp_path):
    done = shell("trap '' TERM; echo $$; exec cat fifo", tmp_path, limits=Limits(seconds=1.0, grace=0.1))
    assert done.timed_out
    assert done.code == -signal.SIGKILL
    assert has_ended(int(done.stdout))


def test_children_receive_sigterm_before_sigkill(tmp_path):
    script = """
trap 'wait; exit 0' TERM
(trap 'echo child got SIGTERM; exit 0' TERM; cat fifo & wait) &
wait
"""
    done = shell(script, tmp_path, limits=Limits(seconds=1.0, grace=10.0))
    assert (done.timed_out, done.code, done.stdout) == (True, 0, b"child got SIGTERM\n")


FORKS = """
import os, signal, sys
ready, signal_pipe = os.pipe()
if os.fork() == 0:
    if sys.argv[1:] == ["execve"]:  # drops the environment, stays in the process group
        code = f"import os, signal; print(os.getpid(), flush=True); os.write({signal_pipe}, b'x'); signal.pause()"
        os.set_inheritable(signal_pipe, True)
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code], {})
    if sys.argv[1:] == ["setsid"]:  # leaves the process group, keeps the environment
        os.setsid()
        if os.fork():
            os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    os.write(signal_pipe, b"x")
    while True:
        signal.pause()
os.read(ready, 1)
"""


@pytest.mark.parametrize("way", ["", "setsid", "execve"])
def test_descendants_end_with_the_program_even_outside_its_group(tmp_path, way):
    argv = [sys.executable, "-I", "-S", "-c", FORKS, *([way] if way else [])]
    done = anyio.run(partial(run_program, argv, cwd=tmp_path, env={}, limits=QUICK))
    assert done.code == 0
    assert not done.timed_out
    assert has_ended(int(done.stdout))


@pytest.mark.parametrize("way", ["", "setsid"])
def test_cancellation_ends_the_program_and_its_children(tmp_path, way):
    code = FORKS + "\nopen('up', 'w').write(str(os.getpid()))\nsignal.pause()\n"
    os.mkfifo(tmp_path / "up")
    pids: list[int] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:
            argv = [sys.executable, "-I", "-S", "-c", code, *([way] if way else [])]
            group.start_soon(partial(run_program, argv, cwd=tmp_path, env={}, limits=QUICK))
            leader = int(await anyio.to_thread.run_sync((tmp_path / "up").read_text))
            pids.extend({leader, *_running_in(tmp_path)})
            group.cancel_scope.cancel()

    anyio.run(main)
    assert len(pids) == 2
    assert all(has_ended(pid) for pid in pids)


def _running_in(folder: Path) -> list[int]:
    return [process.pid for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(folder.resolve())]


def test_hundred_megabytes_of_output_fill_no_memory(tmp_path):
    code = "import sys\nblock = b'x' * 1_000_000\nfor _ in range(100): sys.stdout.buffer.write(block)"
    tracemalloc.start()
    done = run(code, tmp_path, limits=Limits(seconds=60.0, output_bytes=1_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert done.truncated
    assert done.code == 0
    assert len(done.stdout) == 1_000_000
    assert peak < 10_000_000


def test_endless_output_ends_the_program_at_the_limit(tmp_path):
    limits = Limits(seconds=None, output_bytes=1000, stop_at_output=True, grace=0.2)
    done = run("while True: print('x' * 99)", tmp_path, limits=limits)
    assert (done.truncated, done.timed_out, len(done.stdout)) == (True, False, 1000)


def test_endless_stderr_ends_the_program_at_the_limit(tmp_path):
    limits = Limits(seconds=None, output_bytes=1000, stop_at_output=True, grace=0.2)
    done = run("import sys\nwhile True: print('x' * 99, file=sys.stderr)", tmp_path, limits=limits)
    assert (done.truncated, done.stdout, len(done.stderr)) == (True, b"", 1000)


def test_dropped_lines_are_neither_kept_nor_counted(tmp_path):
    code = "for _ in range(99): print('drop ' + 'x' * 99)\nprint('dr'); print('kept'); print('drop', end='')"
    limits = Limits(seconds=20.0, output_bytes=10, stop_at_output=True, dropped_lines=b"drop")
    done = run(code, tmp_path, limits=limits)
    assert (done.stdout, done.truncated, done.code) == (b"dr\nkept\n", False, 0)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_dropped_lines_are_found_in_chunks_of_any_size(size):
    stream, head = b"drop 1\nd\nkeep drop\n\ndrop 2\ndro", _Head(100, b"drop")
    for start in range(0, len(stream), size):
        head.add(stream[start : start + size])
    assert head.text() == b"d\nkeep drop\n\ndro"


def test_output_of_exactly_the_limit_is_not_truncated(tmp_path):
    done = run("print('x' * 9)", tmp_path, limits=Limits(seconds=20.0, output_bytes=10))
    assert (done.stdout, done.truncated) == (b"x" * 9 + b"\n", False)


def test_end_of_stderr_is_kept(tmp_path):
    done = run("import sys; sys.stderr.write('a' * 200_000 + 'the end')", tmp_path)
    assert done.stderr.endswith(b"the end")
    assert len(done.stderr) == 65536


def test_program_that_does_not_read_its_stdin_succeeds(tmp_path):
    assert run("print('done')", tmp_path, stdin=b"x" * 5_000_000).stdout == b"done\n"


def test_file_over_the_size_limit_is_refused(tmp_path):
    code = "f = open('big', 'wb')\ntry:\n    f.write(b'x' * 3_000_000); f.flush()\nexcept OSError as e:\n    print(e.errno)"
    done = run(code, tmp_path, limits=Limits(seconds=20.0, file_bytes=1_000_000))
    assert done.stdout.strip() == b"27"  # EFBIG
    assert (tmp_path / "big").stat().st_size <= 1_000_000


def test_memory_over_the_limit_is_refused(tmp_path):
    code = "try:\n    bytearray(800_000_000)\nexcept MemoryError:\n    print('no')"
    assert run(code, tmp_path, limits=Limits(seconds=20.0, memory_bytes=400_000_000)).stdout == b"no\n"


def test_limit_on_processes_is_set_for_the_program(tmp_path):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[0])"
    argv = [sys.executable, "-I", "-c", code]
    done = anyio.run(partial(run_program, argv, cwd=tmp_path, env={}, limits=Limits(seconds=20.0, processes=64)))
    assert done.stdout.strip() == b"64"


def test_limit_above_the_hard_limit_is_lowered_to_it(monkeypatch):
    monkeypatch.setattr("skillsv.sandbox.process.resource.getrlimit", lambda kind: (-1, 2_048_000))
    assert "ulimit -v 2000;" in limit_command(["program"], Limits(memory_bytes=10**13))[2]
    assert "ulimit -v 1;" in limit_command(["program"], Limits(memory_bytes=1024))[2]


def test_change_of_the_system_time_does_not_change_the_duration(tmp_path, monkeypatch):
    times = iter([1000.0, -5_000_000.0, 9e12, *([0.0] * 1000)])
    monkeypatch.setattr("time.time", lambda: next(times))
    assert 0 <= run("print(1)", tmp_path).duration < 60


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_program_ends_when_its_parent_is_killed(tmp_path):
    os.mkfifo(tmp_path / "up")
    child = "import os, signal; open('up', 'w').write(str(os.getpid())); signal.pause()"
    parent = f"""
import anyio, pathlib, sys
from functools import partial
from skillsv.sandbox import Limits, run_program
argv = [sys.executable, "-I", "-S", "-c", {child!r}]
anyio.run(partial(run_program, argv, cwd=pathlib.Path({str(tmp_path)!r}), env={{}}, limits=Limits()))
"""
    starter = subprocess.Popen([sys.executable, "-c", parent])
    program = psutil.Process(int((tmp_path / "up").read_text()))
    starter.kill()
    starter.wait()
    psutil.wait_procs([program], timeout=30)
    assert has_ended(program.pid)


def test_concurrent_programs_have_separate_output(tmp_path):
    results: dict[int, bytes] = {}

    async def one(number: int) -> None:
        argv = [sys.executable, "-I", "-S", "-c", f"print({number})"]
        results[number] = (await run_program(argv, cwd=tmp_path, env={}, limits=QUICK)).stdout

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(one, number)

    anyio.run(main)
    assert results == {number: f"{number}\n".encode() for number in range(12)}
