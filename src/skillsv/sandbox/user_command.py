"""Runs a program that the user named, an agent or a verifier: directly, or in the sandbox with `--sandbox-agent`.

In the sandbox it has the network, and sees the workspace, the files of its command line and what the user declares with
`--depends-on`, at their own paths. Of other files of the user it sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.errors import SettingsError
from skillsv.sandbox.bubblewrap import find_sandbox_problem, run_sandboxed
from skillsv.sandbox.covered_files import command_files, declared_files
from skillsv.sandbox.process import Limits, ProgramResult, run_program
from skillsv.sandbox.sandbox_options import SandboxOptions

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/proc", "/dev")))
"""Folders that every sandbox has of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSandbox:
    """The sandbox of one command: the files that it may read, and the container program (empty: bubblewrap)."""

    read_only: tuple[Path, ...]
    container: str = ""


def make_command_sandbox(
    argv: Sequence[str], folder: Path, *, depends_on: Iterable[str] = (), container: str = ""
) -> CommandSandbox:
    """The sandbox for a command whose relative names start at `folder`. Raises SettingsError if there is none here."""
    problem = find_sandbox_problem(container=container)
    if problem is not None:
        raise SettingsError(f"{argv[0]} cannot be sandboxed: {problem}", hint="Leave out --sandbox-agent.")
    covered = command_files(argv, folder) + declared_files(depends_on, folder)
    named = [Path(word) for word in argv if word.startswith("/") and Path(word).is_file()]
    files = [*named, *covered.basic, *(path for _, path in covered.further), *covered.folders, *covered.skipped]
    declared = [folder / pattern for pattern in depends_on if (folder / pattern).is_dir()]
    paths = {path.absolute() for path in (*files, *declared, *_python_folders(Path(argv[0])))}
    return CommandSandbox(read_only=tuple(_outermost(paths)), container=container)


async def run_user_command(
    argv: Sequence[str],
    *,
    workspace: Path,
    env: Mapping[str, str],
    stdin: bytes,
    limits: Limits,
    sandbox: CommandSandbox | None = None,
    private: Path | None = None,
) -> ProgramResult:
    """Run `argv` in `workspace`. It may change the folder `private`, too. Raises OSError if it cannot start."""
    if sandbox is None:
        return await run_program(argv, cwd=workspace, env=env, stdin=stdin, limits=limits)
    options = SandboxOptions(
        workspace_mount=str(workspace),
        folders={} if private is None else {str(private): private},
        variables=env,
        network=True,
        read_only=sandbox.read_only,
        as_user=True,
        container=sandbox.container,
    )
    return await run_sandboxed(argv, workspace=workspace, limits=limits, stdin=stdin, options=options)


def _python_folders(program: Path) -> Iterator[Path]:
    """The virtual environment of a Python or of a script in it, and the installation that it was made from."""
    for environment in (program.parent.parent, program.resolve().parent.parent):
        settings = environment / "pyvenv.cfg"
        if settings.is_file():
            yield environment
            for line in settings.read_text("utf-8", errors="replace").splitlines():
                name, _, value = line.partition("=")
                if name.strip() == "home":
                    yield Path(value.strip()).parent
        elif program.name.startswith("python") and (environment / "lib").is_dir():
            yield environment


def _outermost(paths: Iterable[Path]) -> Iterator[Path]:
    """The paths that neither the system's folders nor another of these paths hold."""
    found: list[Path] = []
    for path in sorted(paths):
        if not any(path.is_relative_to(folder) for folder in (*_SYSTEM, *found)):
            found.append(path)
            yield path
