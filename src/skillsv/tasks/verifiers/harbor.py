"""The verifier of Harbor tasks: runs `tests/test.sh` in the workspace and reads the reward that it writes."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.process import Limits, ProgramResult, private_environment, run_program
from skillsv.sandbox.workspace import convert_disk_errors
from skillsv.tasks.verifiers.scorer import Scorer

_CONTAINER_PATH = re.compile(rb"(?<![\w./~$}])(?<!\w-)/(tests|logs|app)(?=[/\s\"'`\\;:,)\]}]|$)")
"""One of the container's folders where it is written as a path in a test file."""

_SECONDS = 600.0
"""Time limit of the tests if the task sets none (`timeout_sec`)."""


def harbor(task_folder: str) -> Scorer:
    """Runs a copy of the task's tests after the agent has finished, so that the agent never sees them.

    No container is started. The copy of the tests is changed: `/app` becomes the workspace, `/tests` the copy, and
    `/logs` a private folder, from which `verifier/reward.txt` or `verifier/reward.json` is read.
    """
    folder = Path(task_folder)
    bash = shutil.which("bash")
    if bash is None:
        raise ValueError("its tests need bash, which was not found on the PATH")
    if not (folder / "tests" / "test.sh").is_file():
        raise ValueError(f"there is no tests/test.sh in {folder}")

    async def score(task: Task, outcome: Outcome, workspace: Path) -> Any:
        with tempfile.TemporaryDirectory(prefix="skillsv-harbor-", ignore_cleanup_errors=True) as private:
            logs, tests = Path(private, "logs"), Path(private, "tests")
            _copy_tests(folder, logs, tests, workspace)
            _write_answer(outcome, logs / "verifier" / "answer.txt")
            done = await run_program(
                [bash, str(tests / "test.sh")],
                cwd=workspace,
                env=private_environment(workspace) | {"SKILLSV_ANSWER": str(logs / "verifier" / "answer.txt")},
                limits=Limits(seconds=_seconds(task), output_bytes=1024 * 1024),
            )
            return _reward(logs / "verifier", done)

    return score


def _write_answer(outcome: Outcome, path: Path) -> None:
    """Write the answer to a file, for tests that read it (SKILLSV_ANSWER)."""
    with convert_disk_errors(path):
        path.write_text(outcome.answer, "utf-8", errors="replace")


def _copy_tests(folder: Path, logs: Path, tests: Path, workspace: Path) -> None:
    """Copy the tests to the folder `tests`, with the container's paths replaced by the real ones."""
    with convert_disk_errors(logs):
        (logs / "verifier").mkdir(parents=True)
        shutil.copytree(folder / "tests", tests, symlinks=True)
        _replace_paths(tests, {b"tests": tests, b"logs": logs, b"app": workspace})


def _seconds(task: Task) -> float:
    value = task.metadata.get("timeout_sec")
    return float(value) if isinstance(value, (int, float)) and value > 0 else _SECONDS


def _replace_paths(tests: Path, folders: Mapping[bytes, Path]) -> None:
    """Replace the container's paths in the copied text files."""
    for file in tests.rglob("*"):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            if b"\0" not in data:
                file.write_bytes(_CONTAINER_PATH.sub(lambda match: str(folders[match.group(1)]).encode(), data))


def _reward(logs: Path, done: ProgramResult) -> Any:
    """The reward that the tests wrote. Raises VerifierFailure if there is none."""
    if done.timed_out:
        raise VerifierFailure("tests/test.sh did not end in time.")
    try:
        if (logs / "reward.json").is_file():
            return _reward_in_json(msgspec.json.decode((logs / "reward.json").read_bytes()))
        return float((logs / "reward.txt").read_text("utf-8").strip())
    except FileNotFoundError:
        errors = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        message = f": {errors[-1][:300]}" if errors else ""
        raise VerifierFailure(f"tests/test.sh wrote no reward (exit code {done.code}){message}.") from None
    except (ValueError, msgspec.DecodeError) as error:
        raise VerifierFailure(f"The reward that tests/test.sh wrote cannot be read: {error}.") from error


def _reward_in_json(value: Any) -> Any:
    """The entry `reward`, or the only entry."""
    if not isinstance(value, dict):
        return value
    if "reward" in value:
        return value["reward"]
    if len(value) == 1:
        return next(iter(value.values()))
    raise VerifierFailure(f"reward.json has {len(value)} entries and none is called `reward`.")
