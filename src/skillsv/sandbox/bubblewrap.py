"""A program that nobody vouches for, run by bubblewrap: no network, no home, one folder, a read-only system, limits.

Inside, the working folder is `/task`; nothing else of the user's is there. The process namespace ends with the program,
and everything in it. What bubblewrap does not limit, `ulimit` does, inside the namespace, so that sandboxes running
at the same time do not count against each other.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from skillsv.errors import RolloutError
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.process import Completed, Limits, limited, run_program
from skillsv.sandbox.workspace import disk_trouble

INSIDE = "/task"
"""Where the working folder lies for the program; a fixed name, so that answers do not depend on a random one."""

SANDBOX_LIMITS = Limits(
    seconds=60.0,
    output_bytes=1024 * 1024,
    memory_bytes=2 * 1024**3,
    file_bytes=256 * 1024**2,
    processes=64,
    grace=0.2,
)
"""For programs that a model wrote. Memory is per process; scratch folders hold no more than one file may."""

PACKAGES = "/packages"
"""Where Python packages lie for the program that the system's Python does not have."""

_SYSTEM_LINKS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types")
_NOBODY = 65534
_PROBE_SECONDS = 20


async def run_sandboxed(
    argv: Sequence[str], *, workspace: Path, limits: Limits, stdin: bytes = b"", packages: Sequence[Path] = ()
) -> Completed:
    """Run `argv` inside; it sees `workspace` as its working folder and may change nothing else.

    `packages` are Python packages (folders, or files of one module) that it may import besides what its Python has.
    Raises RolloutError (kind `sandbox`) where the sandbox itself fails, never for what the program does.
    """
    await anyio.to_thread.run_sync(_hand_over, workspace)
    outer = replace(limits, memory_bytes=None, file_bytes=None, processes=None)
    command = sandboxed(argv, workspace, limits, packages)
    env = {**_environment(), **({"PYTHONPATH": PACKAGES} if packages else {})}
    try:
        done = await run_program(command, cwd=workspace, env=env, stdin=stdin, limits=outer)
    except OSError as error:
        raise RolloutError(f"bubblewrap cannot be started: {error.strerror}.", kind=FailureKind.SANDBOX) from error
    if done.code != 0 and done.stderr.startswith((b"bwrap: ", b"setpriv: ")):  # theirs, or words that imitate them
        trouble = await anyio.to_thread.run_sync(_probe, workspace, packages)
        if trouble:
            raise RolloutError(trouble, kind=FailureKind.SANDBOX)
    return done


def sandboxed(argv: Sequence[str], workspace: Path, limits: Limits, packages: Sequence[Path] = ()) -> list[str]:
    """The command line that runs `argv` inside."""
    scratch = str(limits.file_bytes or SANDBOX_LIMITS.file_bytes)
    shared = [word for package in packages for word in ("--ro-bind", str(package), f"{PACKAGES}/{package.name}")]
    return [
        *_as_nobody(),
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox", "--unsetenv", "SKILLSV_ROLLOUT"),
        *_system(),
        *shared,
        *("--proc", "/proc", "--dev", "/dev", "--size", scratch, "--tmpfs", "/dev/shm"),  # noqa: S108 - inside
        *("--size", scratch, "--tmpfs", "/tmp"),  # noqa: S108 - a folder inside the sandbox
        *("--bind", str(workspace), INSIDE, "--chdir", INSIDE, "--remount-ro", "/dev", "--remount-ro", "/"),
        "--",
        *limited(argv, limits),
    ]


def _as_nobody() -> tuple[str, ...]:
    """Root gives up its rights first: the system holds root to no limit on processes, not even in a namespace."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--")


def _hand_over(workspace: Path) -> None:
    """Let the program write its working folder where it runs as nobody. Links are not followed."""
    if os.geteuid() != 0:
        return
    with disk_trouble(workspace):
        os.chown(workspace, _NOBODY, _NOBODY)
        for folder, folders, files in os.walk(workspace):
            for name in (*folders, *files):
                os.chown(Path(folder) / name, _NOBODY, _NOBODY, follow_symlinks=False)


@functools.cache
def _system() -> tuple[str, ...]:
    """The programs and libraries of the machine, read-only, and a Python that is elsewhere."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_LINKS:
        place = Path("/") / name
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += ["--ro-bind", str(place), str(place)]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    if _own_python():
        words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return tuple(words)


def _own_python() -> bool:
    """Whether the sandbox needs the Python that runs us: there is none in the system's folders."""
    return shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") is None


def sandbox_python() -> str | None:
    """The Python that programs inside get; its version decides which compiled packages it can import."""
    return shutil.which("python3", path=_environment()["PATH"])


def _environment() -> dict[str, str]:
    """The same on every machine, as far as it can be; hashes do not vary, so that a repeated program repeats."""
    more = f"{sys.base_prefix}/bin:" if _own_python() else ""
    path = f"{more}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {
        "PATH": path,
        "HOME": "/tmp",  # noqa: S108 - a folder inside the sandbox
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@functools.cache
def sandbox_trouble(packages: tuple[Path, ...] = ()) -> str | None:
    """Why programs cannot be sandboxed on this machine, in one sentence; None where they can. Looked at once."""
    with tempfile.TemporaryDirectory(prefix="skillsv-") as folder:
        return _probe(Path(folder), packages)


def _probe(workspace: Path, packages: Sequence[Path] = ()) -> str | None:
    if not sys.platform.startswith("linux"):
        return "bubblewrap, which sandboxes programs, exists for Linux only."
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux")):
        if shutil.which(program) is None and (program == "bwrap" or os.geteuid() == 0):
            return f"the program `{program}` of the package {package} is not installed."
    _hand_over(workspace)
    command = sandboxed(["true"], workspace, SANDBOX_LIMITS, packages)
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            command, env=_environment(), capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"bubblewrap did not start a program within {_PROBE_SECONDS} s."
    if done.returncode == 0:
        return None
    said = " ".join(done.stderr.decode("utf-8", errors="replace").split())[:300]
    return f"bubblewrap does not work here ({said or f'exit code {done.returncode}'})."
