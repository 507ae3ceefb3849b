"""Runs an untrusted program in a container of docker or podman, for users who have them and not bubblewrap.

The image must be on this machine: nothing is downloaded. The container has no network, a read-only root, no
capabilities, the user's own id (nobody, if this process is root), and the same limits as the sandbox of bubblewrap. The
filter of system calls is that of the container program.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from skillsv.errors import RolloutError, SettingsError
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.process import Limits, ProgramResult, run_program
from skillsv.sandbox.sandbox_options import PACKAGES, SANDBOX_LIMITS, SandboxOptions, scratch_bytes

PROGRAMS = ("docker", "podman")
"""The container programs that can be named. Their command lines agree in what is used here."""

DEFAULT_IMAGE = "python:3.12-slim"
"""The image of a container without another name: it has Python and a shell."""

_CLIENT_VARIABLES = ("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_HOST", "DOCKER_CONTEXT")
"""What the container program itself reads, to find its service."""

_FAILED = 125
"""The exit code for a failure of the container program itself, not of the program in the container."""

_PROBE_SECONDS = 60
"""How long the test whether a container starts may take."""

_NOBODY = 65534
"""User and group id in the container if this process runs as root."""


def split_container(spec: str) -> tuple[str, str]:
    """Program and image of `docker`, `podman:IMAGE` and so on. Raises SettingsError for another program."""
    program, _, image = spec.partition(":")
    if program not in PROGRAMS:
        raise SettingsError(f"`{spec}` is not a container program.", hint=f"Known: {', '.join(PROGRAMS)}.")
    return program, image or DEFAULT_IMAGE


async def run_in_container(
    argv: Sequence[str], *, workspace: Path, limits: Limits, stdin: bytes, options: SandboxOptions
) -> ProgramResult:
    """Run `argv` in a container. It is removed at the end, also after a timeout or a cancellation.

    Raises RolloutError (kind `sandbox`) if no container starts, never because of what the program does.
    """
    name = f"skillsv-{uuid.uuid4().hex}"
    command = container_command(argv, workspace, limits, options, name)
    outer = replace(limits, memory_bytes=None, file_bytes=None, processes=None)
    done = None
    try:
        env = _client_environment(options.variables)
        done = await run_program(command, cwd=workspace, env=env, stdin=stdin, limits=outer)
    except OSError as error:
        raise RolloutError(f"{command[0]} cannot be started: {error.strerror}.", kind=FailureKind.SANDBOX) from error
    finally:
        if done is None or done.code != 0:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_remove, command[0], name)
    if done.code == _FAILED:
        # The program may use this exit code itself: only a test shows who failed.
        problem = await anyio.to_thread.run_sync(_probe, options.container)
        if problem:
            raise RolloutError(problem, kind=FailureKind.SANDBOX)
    return done


def container_command(
    argv: Sequence[str], workspace: Path, limits: Limits, options: SandboxOptions, name: str
) -> list[str]:
    """The command line that runs a program in a container. Values of variables are not in it: other users see it."""
    program, image = split_container(options.container)
    size = scratch_bytes(limits)
    return [
        *(program, "run", "--rm", "--interactive", "--name", name, "--pull", "never", "--hostname", "sandbox"),
        *("--network", "bridge" if options.network else "none", "--read-only", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", *_user(program, options)),
        *("--tmpfs", f"/tmp:rw,exec,mode=1777,size={size}"),  # noqa: S108 - a folder inside the container
        *("--shm-size", str(size), *_limits(limits), *_volumes(workspace, options), *_variables(options)),
        *("--workdir", options.workspace_mount, "--entrypoint", "", image, *argv),
    ]


def _user(program: str, options: SandboxOptions) -> tuple[str, ...]:
    """The id that the program has, which must be able to use the workspace."""
    if os.geteuid() == 0:
        user = "0:0" if options.as_user else f"{_NOBODY}:{_NOBODY}"
    else:
        user = f"{os.geteuid()}:{os.getegid()}"
    if program == "docker":
        return ("--user", user)
    keep = () if os.geteuid() == 0 else ("--userns", "keep-id")
    return ("--user", user, "--security-opt", "label=disable", *keep)


def _limits(limits: Limits) -> Iterator[str]:
    if limits.memory_bytes is not None:
        yield from ("--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes))
    if limits.processes is not None:
        yield from ("--pids-limit", str(limits.processes))
    if limits.file_bytes is not None:
        yield from ("--ulimit", f"fsize={limits.file_bytes}:{limits.file_bytes}")


def _volumes(workspace: Path, options: SandboxOptions) -> Iterator[str]:
    """What the program sees of the user's files."""
    for package in options.packages:
        yield from ("--volume", _volume(package, f"{PACKAGES}/{package.name}", "ro"))
    for path in options.read_only:
        yield from ("--volume", _volume(path, str(path), "ro"))
    for inside, folder in {options.workspace_mount: workspace, **options.folders}.items():
        yield from ("--volume", _volume(folder, inside, "rw"))


def _volume(path: Path, inside: str, access: str) -> str:
    if ":" in f"{path}{inside}":
        raise SettingsError(f"{path} cannot be shown to a container: its name has a colon.")
    return f"{path}:{inside}:{access}"


def _variables(options: SandboxOptions) -> Iterator[str]:
    """Variables by name, so that the value comes from the environment of the container program.

    Those that this program reads itself are written out; PATH is that of the image.
    """
    given = {"HOME": "/tmp", **options.variables}  # noqa: S108 - a folder inside the container
    for name, value in given.items():
        if name != "PATH":
            yield from ("--env", f"{name}={value}" if name in _CLIENT_VARIABLES else name)


def _client_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of the container program: what it needs itself, and the values that it hands on by name."""
    return {**variables, **{name: os.environ[name] for name in _CLIENT_VARIABLES if name in os.environ}}


@functools.cache
def find_container_problem(container: str) -> str | None:
    """Why no container starts, in one sentence; None if one does. The result is cached."""
    return _probe(container)


def _probe(container: str) -> str | None:
    """Run `true` in a container; the problem in one sentence, None if it works."""
    program, image = split_container(container)
    if shutil.which(program) is None:
        return f"the program `{program}` is not installed."
    name = f"skillsv-{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="skillsv-") as folder:
        options = SandboxOptions(container=container)
        command = container_command(["true"], Path(folder), SANDBOX_LIMITS, options, name)
        try:
            done = _call(command)
        except subprocess.TimeoutExpired:
            _remove(program, name)
            return f"{program} did not start a program within {_PROBE_SECONDS} s."
    if done.returncode == 0:
        return None
    message = " ".join(done.stderr.decode("utf-8", errors="replace").split())[:300]
    return f"{program} does not start the image {image} ({message or f'exit code {done.returncode}'})."


def _remove(program: str, name: str) -> None:
    """End and remove a container, whose programs go on after the client was killed. It may have ended already."""
    with suppress(OSError, subprocess.TimeoutExpired):
        _call([program, "rm", "--force", name])


def _call(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    env = _client_environment({})
    return subprocess.run(  # noqa: S603 - our own command
        command, env=env, capture_output=True, timeout=_PROBE_SECONDS, check=False
    )
