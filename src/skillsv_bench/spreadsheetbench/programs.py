"""Runs a model's program on a fresh copy of the workbook, sandboxed unless the user said otherwise."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import anyio.to_thread

from skillsv.errors import Unavailable
from skillsv.extend.sandbox import (
    SANDBOX_LIMITS,
    Limits,
    ProgramResult,
    SandboxOptions,
    convert_disk_errors,
    find_sandbox_problem,
    private_environment,
    remove_folder,
    run_program,
    run_sandboxed,
    sandbox_python,
)
from skillsv.extend.task_sources import AgentOptions
from skillsv.model.task import Task
from skillsv_bench.spreadsheetbench.prompt import INPUT, NO_OUTPUT
from skillsv_bench.spreadsheetbench.verify import OUTPUT

_PURE = ("openpyxl", "et_xmlfile")
"""openpyxl and the package that it needs, which fit any version of Python."""

_COMPILED = ("pandas", "numpy", "dateutil", "six", "pytz")
"""pandas and what its releases need; numpy only fits the version of Python that it was built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Libraries:
    """`names` are told to the model, with `versions` they tell agents apart; `folders` is where they lie."""

    names: tuple[str, ...]
    versions: str
    folders: tuple[Path, ...]


@cache
def libraries(*, sandbox: bool) -> Libraries:
    """What programs may import, inside the sandbox or as the user."""
    pandas = find_spec("pandas") is not None and (not sandbox or _same_python())
    names = ("openpyxl", "pandas") if pandas else ("openpyxl",)
    folders = [folder for module in (*_PURE, *(_COMPILED if pandas else ())) for folder in _folders(module)]
    return Libraries(names=names, versions=",".join(f"{name}=={version(name)}" for name in names), folders=(*folders,))


def _same_python() -> bool:
    python = sandbox_python()
    if python is None:
        return False
    question = "import sys; print(sys.implementation.cache_tag)"
    result = subprocess.run([python, "-c", question], capture_output=True, check=False)  # noqa: S603 - a constant program
    return result.stdout.decode().strip() == sys.implementation.cache_tag


def _folders(module: str) -> Iterator[Path]:
    """A package's folder or a module's file, and the folder of compiled libraries that may lie beside it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    place = Path(spec.origin)
    place = place.parent if spec.submodule_search_locations is not None else place
    yield place
    compiled = place.with_name(f"{place.name}.libs")
    if compiled.is_dir():
        yield compiled


PROGRAM = "solution.py"
"""The program's file name in the workspace."""

_PATHS = {"INPUT_PATH": INPUT, "OUTPUT_PATH": OUTPUT}
_START = f"""\
import os, runpy
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would count as processes
runpy.run_path({PROGRAM!r}, init_globals={_PATHS!r}, run_name="__main__")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs programs the same way in every rollout."""

    sandbox: bool
    limits: Limits
    libraries: Libraries

    @classmethod
    def of(cls, options: AgentOptions) -> Runner:
        """The runner that the user's settings describe. Raises Unavailable where programs cannot be sandboxed."""
        if options.container and options.chat.sandbox:
            raise Unavailable(
                f"programs of the model use packages of this machine, which {options.container} does not have.",
                hint="Leave out --sandbox: they run in bubblewrap.",
            )
        allowed = libraries(sandbox=options.chat.sandbox)
        if options.chat.sandbox and (error := find_sandbox_problem(allowed.folders)):
            raise Unavailable(
                f"programs of the model cannot be sandboxed: {error}", hint="Run them unprotected: --no-sandbox."
            )
        limits = replace(SANDBOX_LIMITS, seconds=options.chat.run_seconds)
        return cls(sandbox=options.chat.sandbox, limits=limits, libraries=allowed)

    async def run(self, code: str, task: Task, workspace: Path) -> str | None:
        """Why the program failed, in its own words; None where it saved a workbook."""
        await anyio.to_thread.run_sync(_prepare, code, task, workspace)
        done = await self._run(workspace)
        if done.timed_out or done.code != 0:
            return self._describe_failure(done)
        return None if is_file(workspace / OUTPUT) else NO_OUTPUT

    async def _run(self, workspace: Path) -> ProgramResult:
        if self.sandbox:
            program = ["python3", "-c", _START]
            options = SandboxOptions(packages=tuple(self.libraries.folders))
            return await run_sandboxed(program, workspace=workspace, limits=self.limits, options=options)
        env = private_environment(workspace)
        return await run_program([sys.executable, "-c", _START], cwd=workspace, env=env, limits=self.limits)

    def _describe_failure(self, done: ProgramResult) -> str:
        outputs = [part.decode("utf-8", errors="replace").strip() for part in (done.stdout, done.stderr)]
        end = f"[stopped after {self.limits.seconds:g} s]" if done.timed_out else f"[exit code {done.code}]"
        return "\n".join([*filter(None, outputs), end])


def is_file(path: Path) -> bool:
    """Whether an ordinary file lies there, which a link is not."""
    return path.is_file() and not path.is_symlink()


def _prepare(code: str, task: Task, workspace: Path) -> None:
    """Put the program and the workbook into place; what an earlier program left there does not count."""
    with convert_disk_errors(workspace):
        for name in (INPUT, OUTPUT, PROGRAM):
            _remove(workspace / name)
        shutil.copyfile(task.files[INPUT], workspace / INPUT)
        (workspace / PROGRAM).write_text(remove_path_assignments(code), encoding="utf-8", errors="replace")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def remove_path_assignments(code: str) -> str:
    """The program without lines that set one of the two paths to a text, which templates in skills make models write.

    Lines keep their numbers, so that errors name the right ones.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # Python itself will say what is wrong with it
    lines = code.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Assign) and _sets_path(node) and node.end_lineno is not None:
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = "\n"
    return "".join(lines)


def _sets_path(node: ast.Assign) -> bool:
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    return len(names) == len(node.targets) == 1 and names[0] in _PATHS and isinstance(node.value, ast.Constant)
