"""The verifier of Harbor tasks: runs `tests/test.sh` in the workspace and reads the reward that it writes."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from skillsv.errors import SettingsError, TaskError, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.bubblewrap import find_sandbox_problem, give_to_nobody, run_sandboxed
from skillsv.sandbox.folders import walk_files
from skillsv.sandbox.links import remove_outside_links
from skillsv.sandbox.process import Limits, ProgramResult, private_environment, private_folder, run_program
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sandbox_options import SandboxOptions
from skillsv.sandbox.workspace import convert_disk_errors
from skillsv.tasks.verifiers.scorer import Scorer, VerifierOptions

_CONTAINER_PATH = re.compile(rb"(?<![\w./~$}])(?<!\w-)/(tests|logs|app)(?=[/\s\"'`\\;:,)\]}]|$)")
"""One of the container's folders where it is written as a path in a test file."""

_SECONDS = 600.0
"""Time limit of the tests if the task sets none (`timeout_sec`)."""

_LIMITS = Limits(
    seconds=_SECONDS,
    output_bytes=1024 * 1024,
    memory_bytes=8 * 1024**3,
    file_bytes=1024**3,
    processes=512,
    grace=0.2,
)
"""Limits of sandboxed tests, which may build programs and start servers: wider than those of a model's program."""

_LONGEST_REWARD = 65536
"""Bytes that are read of a reward file."""


def harbor(task_folder: str, options: VerifierOptions) -> Scorer:
    """Runs a copy of the task's tests after the agent has finished, so that the agent never sees them.

    No container is started. In the sandbox, `/app` is the workspace, `/tests` the copy, and `/logs` a private folder,
    from which `verifier/reward.txt` or `verifier/reward.json` is read. Without the sandbox, the tests run with the
    rights of the user, and these paths are replaced in the copy.
    """
    folder = Path(task_folder)
    bash = shutil.which("bash")
    if bash is None:
        raise ValueError("its tests need bash, which was not found on the PATH")
    if not (folder / "tests" / "test.sh").is_file():
        raise ValueError(f"there is no tests/test.sh in {folder}")
    if options.sandbox and (problem := find_sandbox_problem(container=options.container)):
        raise SettingsError(
            f"its tests/test.sh cannot be sandboxed: {problem}",
            hint="Run it unprotected, with your rights: --no-sandbox.",
        )
    tests = _Tests(folder=folder, bash=bash, options=options, asks_network=_asks_network(folder))

    async def score(task: Task, outcome: Outcome, workspace: Path) -> Any:
        with private_folder() as private:
            _write_answer(outcome, private / "logs" / "verifier" / "answer.txt")
            run = tests.run_sandboxed if options.sandbox else tests.run_unprotected
            done = await run(workspace, private, _seconds(task))
            await anyio.to_thread.run_sync(remove_outside_links, private / "logs")
            return _reward(private / "logs" / "verifier", done, tests.hint)

    return score


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """The tests of one task, and the two ways to run them. `private` holds the logs and receives the copy."""

    folder: Path
    bash: str
    options: VerifierOptions
    asks_network: bool

    @property
    def hint(self) -> str:
        """What may have made sandboxed tests fail."""
        refused = self.options.sandbox and self.asks_network and not self.options.network
        return " The task asks for the network, which --verifier-network allows." if refused else ""

    async def run_sandboxed(self, workspace: Path, private: Path, seconds: float) -> ProgramResult:
        """Run the tests in the sandbox. Their HOME is an empty folder there."""
        with convert_disk_errors(private):
            shutil.copytree(self.folder / "tests", private / "tests", symlinks=True)
        await anyio.to_thread.run_sync(give_to_nobody, private)
        return await run_sandboxed(
            ["bash", "/tests/test.sh"],
            workspace=workspace,
            limits=replace(_LIMITS, seconds=seconds),
            options=SandboxOptions(
                workspace_mount="/app",
                folders={"/tests": private / "tests", "/logs": private / "logs"},
                variables={"SKILLSV_ANSWER": "/logs/verifier/answer.txt"},
                network=self.options.network and self.asks_network,
                container=self.options.container,
            ),
        )

    async def run_unprotected(self, workspace: Path, private: Path, seconds: float) -> ProgramResult:
        """Run the tests with the rights of the user, with the real paths in place of those of the container."""
        logs, tests = private / "logs", private / "tests"
        with convert_disk_errors(private):
            shutil.copytree(self.folder / "tests", tests, symlinks=True)
            _replace_paths(tests, {b"tests": tests, b"logs": logs, b"app": workspace})
        return await run_program(
            [self.bash, str(tests / "test.sh")],
            cwd=workspace,
            env=private_environment(private) | {"SKILLSV_ANSWER": str(logs / "verifier" / "answer.txt")},
            limits=Limits(seconds=seconds, output_bytes=_LIMITS.output_bytes),
        )


def harbor_settings(folder: Path) -> dict[str, Any]:
    """The contents of task.toml as JSON values; empty if there is no such file. Raises TaskError if it is not TOML."""
    path = folder / "task.toml"
    if not path.is_file():
        return {}
    try:
        values: dict[str, Any] = msgspec.to_builtins(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TaskError(f"This is not TOML: {error}.", where=str(path)) from error
    return values


def _asks_network(folder: Path) -> bool:
    environment = harbor_settings(folder).get("environment")
    return isinstance(environment, dict) and environment.get("allow_internet") is True


def _write_answer(outcome: Outcome, path: Path) -> None:
    """Write the answer to a file, for tests that read it (SKILLSV_ANSWER)."""
    with convert_disk_errors(path):
        path.parent.mkdir(parents=True)
        path.write_text(outcome.answer, "utf-8", errors="replace")


def _seconds(task: Task) -> float:
    value = task.metadata.get("timeout_sec")
    return float(value) if isinstance(value, (int, float)) and value > 0 else _SECONDS


def _replace_paths(tests: Path, folders: Mapping[bytes, Path]) -> None:
    """Replace the container's paths in the copied text files."""
    for file in walk_files(tests):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            if b"\0" not in data:
                file.write_bytes(_CONTAINER_PATH.sub(lambda match: str(folders[match.group(1)]).encode(), data))


def _reward(logs: Path, done: ProgramResult, hint: str) -> Any:
    """The reward that the tests wrote. Raises VerifierFailure if there is none."""
    if done.timed_out:
        raise VerifierFailure(f"tests/test.sh did not end in time.{hint}")
    try:
        if (logs / "reward.json").is_file():
            return _reward_in_json(msgspec.json.decode(_read(logs / "reward.json")))
        return float(_read(logs / "reward.txt").decode("utf-8").strip())
    except FileNotFoundError:
        errors = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        message = f": {redact(errors[-1])[:300]}" if errors else ""
        raise VerifierFailure(f"tests/test.sh wrote no reward (exit code {done.code}){message}.{hint}") from None
    except (OSError, ValueError, RecursionError, msgspec.DecodeError) as error:
        raise VerifierFailure(f"The reward that tests/test.sh wrote cannot be read: {error}.") from error


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_LONGEST_REWARD)


def _reward_in_json(value: Any) -> Any:
    """The entry `reward`, or the only entry."""
    if not isinstance(value, dict):
        return value
    if "reward" in value:
        return value["reward"]
    if len(value) == 1:
        return next(iter(value.values()))
    raise VerifierFailure(f"reward.json has {len(value)} entries and none is called `reward`.")
