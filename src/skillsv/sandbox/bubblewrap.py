"""Runs an untrusted program in a bubblewrap sandbox: no network, no home, one writable folder, a read-only system.

In the sandbox the workspace is `/task`, and no other file of the user is visible. The sandbox has its own process
namespace, which ends with the program: all its processes end with it. Bubblewrap does not limit memory, file size and
processes; `ulimit` does, inside the namespace, so that sandboxes that run at the same time do not share one limit.
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
from skillsv.sandbox import keyring_program
from skillsv.sandbox.containers import find_container_problem, run_in_container
from skillsv.sandbox.folders import walk
from skillsv.sandbox.process import Limits, ProgramResult, limit_command, run_program
from skillsv.sandbox.sandbox_options import (
    PACKAGES,
    SANDBOX_LIMITS,
    WORKSPACE_MOUNT,
    SandboxOptions,
    scratch_bytes,
)
from skillsv.sandbox.seccomp import filter_file
from skillsv.sandbox.termination import ROLLOUT_VARIABLE
from skillsv.sandbox.workspace import convert_disk_errors

_SYSTEM_FOLDERS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders in `/` with programs and libraries; on many systems they are links into `/usr`."""

_ETC_FILES = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types")
"""Files in `/etc` that programs need: the linker's cache, the time zone, file types."""

_NETWORK_FILES = ("ca-certificates.conf", "hosts", "nsswitch.conf", "pki", "resolv.conf", "ssl")
"""Files in `/etc` that programs need to use the network: names of machines, certificates."""

_KEY_FILES = ("/proc/keys", "/proc/key-users")
"""Files that list keyrings. They exist where the kernel has keyrings."""

_NOBODY = 65534
"""User and group id of `nobody`, as which the sandbox runs if this process runs as root."""

_PROBE_SECONDS = 20
"""How long the test whether the sandbox works may take."""


_DEFAULTS = SandboxOptions()


async def run_sandboxed(
    argv: Sequence[str],
    *,
    workspace: Path,
    limits: Limits,
    stdin: bytes = b"",
    options: SandboxOptions = _DEFAULTS,
) -> ProgramResult:
    """Run `argv` in the sandbox. `workspace` is its working folder, and the only folder of the user that it can change,
    unless `options` name more.

    Raises RolloutError (kind `sandbox`) if the sandbox itself fails, never because of what the program does.
    """
    if not options.as_user:
        await anyio.to_thread.run_sync(give_to_nobody, workspace)
    if options.container:
        return await run_in_container(argv, workspace=workspace, limits=limits, stdin=stdin, options=options)
    outer = replace(limits, memory_bytes=None, file_bytes=None, processes=None)
    env = {**_environment(), **({"PYTHONPATH": PACKAGES} if options.packages else {}), **options.variables}
    try:
        with filter_file() as number:
            command = sandbox_command(argv, workspace, limits, options, number)
            files = () if number is None else (number,)
            done = await run_program(command, cwd=workspace, env=env, stdin=stdin, limits=outer, files=files)
    except OSError as error:
        raise RolloutError(f"bubblewrap cannot be started: {error.strerror}.", kind=FailureKind.SANDBOX) from error
    if done.code != 0 and done.stderr.startswith((b"bwrap: ", b"setpriv: ")):
        # The program may print such a line itself: only a test of the sandbox shows who failed.
        problem = await anyio.to_thread.run_sync(_probe, workspace, options)
        if problem:
            raise RolloutError(problem, kind=FailureKind.SANDBOX)
    return done


def sandbox_command(
    argv: Sequence[str],
    workspace: Path,
    limits: Limits,
    options: SandboxOptions = _DEFAULTS,
    filter_number: int | None = None,
) -> list[str]:
    """The command line that runs `argv` in the sandbox. `filter_number` is an open file with the system call filter."""
    size = str(scratch_bytes(limits))
    return [
        *(sys.executable, "-I", "-S", keyring_program.__file__),
        *(() if options.as_user else _as_nobody()),
        *("bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox", "--unsetenv", ROLLOUT_VARIABLE),
        *(() if filter_number is None else ("--seccomp", str(filter_number))),
        *_system_mounts(),
        *("--proc", "/proc", *_hidden_files(), "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm"),  # noqa: S108 - inside
        *("--size", size, "--tmpfs", "/tmp"),  # noqa: S108 - a folder inside the sandbox
        *_mounts(options, workspace),
        *("--chdir", options.workspace_mount, "--remount-ro", "/dev", "--remount-ro", "/"),
        "--",
        *limit_command(argv, limits),
    ]


def in_sandbox(path: Path) -> bool:
    """Whether every sandbox shows this path: it is in a folder of the machine's programs and libraries."""
    return path.is_absolute() and path.parts[1:2] != () and path.parts[1] in {"usr", *_SYSTEM_FOLDERS}


def _mounts(options: SandboxOptions, workspace: Path) -> list[str]:
    """The arguments of bubblewrap that mount packages, files and folders."""
    words = [word for package in options.packages for word in ("--ro-bind", str(package), f"{PACKAGES}/{package.name}")]
    for path in options.read_only:
        words += ["--ro-bind", str(path), str(path)]
    for mount, folder in {options.workspace_mount: workspace, **options.folders}.items():
        words += ["--bind", str(folder), mount]
    if options.workspace_mount != WORKSPACE_MOUNT:
        words += ["--symlink", options.workspace_mount, WORKSPACE_MOUNT]
    if options.network:
        words += ["--share-net"]
        for name in _NETWORK_FILES:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words


def sandbox_python() -> str | None:
    """Path of the Python in the sandbox. Its version decides which compiled packages a program can import."""
    return shutil.which("python3", path=_environment()["PATH"])


@functools.cache
def find_sandbox_problem(packages: tuple[Path, ...] = (), container: str = "") -> str | None:
    """Why the sandbox does not work on this machine, in one sentence; None if it works. The result is cached.

    `container`: the sandbox is this container program, as in `SandboxOptions`.
    """
    if container:
        return find_container_problem(container)
    with tempfile.TemporaryDirectory(prefix="skillsv-") as folder:
        return _probe(Path(folder), SandboxOptions(packages=packages))


def _as_nobody() -> tuple[str, ...]:
    """The beginning of the command line if this process runs as root: root has no limit on processes."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--")


def give_to_nobody(folder: Path) -> None:
    """Make `nobody` the owner of the folder and all in it if this process runs as root. Links are not followed."""
    if os.geteuid() != 0:
        return
    with convert_disk_errors(folder):
        os.chown(folder, _NOBODY, _NOBODY)
        for path in walk(folder):
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)


@functools.cache
def _hidden_files() -> tuple[str, ...]:
    """Arguments that hide the files in /proc that list keys of the user."""
    return tuple(word for file in _KEY_FILES if Path(file).exists() for word in ("--ro-bind", "/dev/null", file))


@functools.cache
def _system_mounts() -> tuple[str, ...]:
    """Arguments that mount the machine's programs and libraries read-only, and this Python if it is needed."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_FOLDERS:
        folder = Path("/") / name
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            words += ["--ro-bind", str(folder), str(folder)]
    for name in _ETC_FILES:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    if _needs_own_python():
        words += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return tuple(words)


def _needs_own_python() -> bool:
    """Whether the sandbox needs the Python that runs this process, because the system's folders have none."""
    return shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") is None


def _environment() -> dict[str, str]:
    """The environment in the sandbox. It is fixed, also the hash seed, so that a program repeats its result."""
    own_python = f"{sys.base_prefix}/bin:" if _needs_own_python() else ""
    path = f"{own_python}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {
        "PATH": path,
        "HOME": "/tmp",  # noqa: S108 - a folder inside the sandbox
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _probe(workspace: Path, options: SandboxOptions = _DEFAULTS) -> str | None:
    """Run `true` in the sandbox; the problem in one sentence, None if it works."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap, which sandboxes programs, exists for Linux only."
    for program, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux")):
        if shutil.which(program) is None and (program == "bwrap" or os.geteuid() == 0):
            return f"the program `{program}` of the package {package} is not installed."
    if not options.as_user:
        give_to_nobody(workspace)
    try:
        with filter_file() as number:
            command = sandbox_command(["true"], workspace, SANDBOX_LIMITS, options, number)
            done = subprocess.run(  # noqa: S603 - our own command
                command,
                env=_environment(),
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
                pass_fds=() if number is None else (number,),
            )
    except subprocess.TimeoutExpired:
        return f"bubblewrap did not start a program within {_PROBE_SECONDS} s."
    if done.returncode == 0:
        return None
    message = " ".join(done.stderr.decode("utf-8", errors="replace").split())[:300]
    return f"bubblewrap does not work here ({message or f'exit code {done.returncode}'})."
