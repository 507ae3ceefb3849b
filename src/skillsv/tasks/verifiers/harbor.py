"""The verifier of Harbor tasks: `tests/test.sh` is run in the working folder and writes the reward."""

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
from skillsv.sandbox.process import Completed, Limits, private_environment, run_program
from skillsv.sandbox.workspace import disk_trouble
from skillsv.tasks.verifiers.scoring import Scorer

_CONTAINER_PATH = re.compile(rb"(?<![\w./~$}])(?<!\w-)/(tests|logs|app)(?=[/\s\"'`\\;:,)\]}]|$)")
_SECONDS = 600.0


def harbor(place: str) -> Scorer:
    """Runs a copy of the task's tests after the agent has finished, so the agent never sees them.

    No container is started. The container's folders are mapped: in the copied tests `/app` becomes the working folder,
    `/tests` the copy and `/logs` a private folder, from which `verifier/reward.txt` or `reward.json` is read.
    """
    folder = Path(place)
    bash = shutil.which("bash")
    if bash is None:
        raise ValueError("its tests need bash, which was not found on the PATH")
    if not (folder / "tests" / "test.sh").is_file():
        raise ValueError(f"there is no tests/test.sh in {folder}")

    async def score(task: Task, outcome: Outcome, workspace: Path) -> Any:
        with tempfile.TemporaryDirectory(prefix="skillsv-harbor-", ignore_cleanup_errors=True) as private:
            logs, tests = Path(private, "logs"), Path(private, "tests")
            _lay_out(folder, logs, tests, workspace)
            _keep_answer(outcome, logs / "verifier" / "answer.txt")
            done = await run_program(
                [bash, str(tests / "test.sh")],
                cwd=workspace,
                env=private_environment(workspace) | {"SKILLSV_ANSWER": str(logs / "verifier" / "answer.txt")},
                limits=Limits(seconds=_seconds(task), output_bytes=1024 * 1024),
            )
            return _reward(logs / "verifier", done)

    return score


def _keep_answer(outcome: Outcome, place: Path) -> None:
    """The agent's last words, for tests that want them (SKILLSV_ANSWER)."""
    with disk_trouble(place):
        place.write_text(outcome.answer, "utf-8", errors="replace")


def _lay_out(folder: Path, logs: Path, tests: Path, workspace: Path) -> None:
    """Copy the tests to where they will run, with the container's paths replaced by the real ones."""
    with disk_trouble(logs):
        (logs / "verifier").mkdir(parents=True)
        shutil.copytree(folder / "tests", tests, symlinks=True)
        _map_paths(tests, {b"tests": tests, b"logs": logs, b"app": workspace})


def _seconds(task: Task) -> float:
    value = task.metadata.get("timeout_sec")
    return float(value) if isinstance(value, (int, float)) and value > 0 else _SECONDS


def _map_paths(tests: Path, places: Mapping[bytes, Path]) -> None:
    """Write the real places into the copied text files."""
    for file in tests.rglob("*"):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            if b"\0" not in data:
                file.write_bytes(_CONTAINER_PATH.sub(lambda found: str(places[found.group(1)]).encode(), data))


def _reward(logs: Path, done: Completed) -> Any:
    """The reward that the tests wrote."""
    if done.timed_out:
        raise VerifierFailure("tests/test.sh did not end in time.")
    try:
        if (logs / "reward.json").is_file():
            return _from_json(msgspec.json.decode((logs / "reward.json").read_bytes()))
        return float((logs / "reward.txt").read_text("utf-8").strip())
    except FileNotFoundError:
        errors = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        said = f": {errors[-1][:300]}" if errors else ""
        raise VerifierFailure(f"tests/test.sh wrote no reward (exit code {done.code}){said}.") from None
    except (ValueError, msgspec.DecodeError) as error:
        raise VerifierFailure(f"The reward that tests/test.sh wrote cannot be read: {error}.") from error


def _from_json(value: Any) -> Any:
    """The number called `reward`, else the only one there is."""
    if not isinstance(value, dict):
        return value
    if "reward" in value:
        return value["reward"]
    if len(value) == 1:
        return next(iter(value.values()))
    raise VerifierFailure(f"reward.json has {len(value)} entries and none is called `reward`.")
