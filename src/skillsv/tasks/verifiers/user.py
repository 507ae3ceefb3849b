"""Verifiers of the user's: `python:FILE.py:function` and `command:PROGRAM ...`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import RolloutError, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.process import Completed, Limits, private_environment, run_program
from skillsv.sandbox.sources import command_line
from skillsv.sandbox.user_function import OutOfTime, call_function, describe, find_function, line_of
from skillsv.sandbox.user_views import TaskView, task_fields
from skillsv.tasks.verifiers.scoring import Scorer
from skillsv.tasks.verifiers.specs import base_folder, command_folder

_SECONDS = 600.0
LIMITS = Limits(seconds=_SECONDS, output_bytes=1024 * 1024)


class PythonVerifier:
    """Calls the user's function with what its parameters name: `task`, `answer`, `target`, `outcome`, `workspace`.

        def score(task, answer):
            return 1.0 if answer.strip() == task.target else 0.0

    With other names it gets the task and the answer, and the working folder if it takes a third. It may be `async`.
    An exception is a failure of the verifier, never a zero. The file is run by `load`, or by the first call.
    """

    def __init__(self, place: str, folder: Path) -> None:
        self._user = find_function(place, base_folder(place.rpartition(":")[0], folder))
        self._order: tuple[str, ...] = ()

    def load(self) -> None:
        """Run the function's file."""
        self._order = self._order or _order(self._user.function)

    async def __call__(self, task: Task, outcome: Outcome, workspace: Path) -> Any:
        """The score of this outcome."""
        self.load()
        user = self._user
        given = {
            "task": TaskView.of(task, workspace),
            "answer": outcome.answer,
            "target": task.target,
            "outcome": outcome,
            "workspace": workspace,
        }
        try:
            return await call_function(user.function, tuple(given[name] for name in self._order), _SECONDS)
        except OutOfTime:
            raise VerifierFailure(f"{user.file.name}:{user.name} did not return within {_SECONDS:g} s.") from None
        except RolloutError:
            raise
        except (Exception, SystemExit) as error:  # the edge of a rollout: a crash becomes a recorded failure
            raise VerifierFailure(f"{user.file.name}:{line_of(error, user.file)}: {describe(error)}") from error


def _order(function: Callable[..., Any]) -> tuple[str, ...]:
    """Which things the function gets, in its parameters' order."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return ("task", "answer")
    places = [
        parameter
        for parameter in parameters
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    ]
    known = {"task", "answer", "target", "outcome", "workspace"}
    if places and all(parameter.name in known for parameter in places):
        return tuple(parameter.name for parameter in places)
    needed = [parameter for parameter in places if parameter.default is parameter.empty]
    return ("task", "answer", "workspace")[: max(2, min(3, len(needed)))]


def command_verifier(command: str, folder: Path) -> Scorer:
    """Runs the program in the rollout's working folder with `{"task", "answer"}` on stdin.

    The last line it prints is the score (`0.5`), and it ends with exit code 0; anything else is a failure of the
    verifier. HOME and TMPDIR are private, as for agents.
    """
    argv = command_line(command, command_folder(command, folder))
    name = Path(argv[0]).name

    async def score(task: Task, outcome: Outcome, workspace: Path) -> float:
        env = private_environment(workspace) | {"SKILLSV_TASK_ID": task.id}
        try:
            done = await run_program(argv, cwd=workspace, env=env, stdin=_question(task, outcome), limits=LIMITS)
        except OSError as error:
            raise VerifierFailure(f"{name} cannot be started: {error.strerror}.") from error
        return _printed_score(done, name)

    return score


def _question(task: Task, outcome: Outcome) -> bytes:
    return msgspec.json.encode({"task": task_fields(task), "answer": outcome.answer}) + b"\n"


def _printed_score(done: Completed, name: str) -> float:
    errors = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
    if done.timed_out:
        raise VerifierFailure(f"{name} did not end within {LIMITS.seconds:g} s.")
    if done.code != 0:
        raise VerifierFailure(f"{name} ended with exit code {done.code}{f': {errors[-1][:300]}' if errors else '.'}")
    lines = done.stdout.decode("utf-8", errors="replace").strip().splitlines()
    try:
        return float(lines[-1])
    except (IndexError, ValueError):
        last = repr(lines[-1][:60]) if lines else "nothing"
        raise VerifierFailure(f"{name} printed {last} as its last line instead of a score.") from None
