"""Verifiers whose score comes from outside: `python:FILE.py:function`, `command:PROGRAM ...`, and `inspect`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import RolloutError, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.captured_prints import capture_prints
from skillsv.sandbox.process import Limits, ProgramResult, private_environment, private_folder
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sources import command_line
from skillsv.sandbox.user_command import make_command_sandbox, run_user_command
from skillsv.sandbox.user_function import (
    FunctionTimeout,
    GivenFunction,
    UserFunction,
    call_function,
    describe,
    find_function,
    line_of,
)
from skillsv.sandbox.user_views import FullTaskView, full_task_fields
from skillsv.tasks.verifiers.scorer import Scorer, VerifierOptions
from skillsv.tasks.verifiers.specs import base_folder, command_folder

_SECONDS = 600.0
"""Time limit for one call of a function or program: a verifier may run a test suite."""

_LIMITS = Limits(seconds=_SECONDS, output_bytes=1024 * 1024)
"""Limits for a program. Only the last line of its output is used."""

_ARGUMENTS = ("task", "answer", "target", "outcome", "workspace")
"""Names of parameters by which a user's function receives its arguments."""


class PythonVerifier:
    """Calls the user's function with what its parameters name: `task`, `answer`, `target`, `outcome`, `workspace`.

        def score(task, answer):
            return 1.0 if answer.strip() == task.target else 0.0

    With other parameter names, the function receives the task and the answer, and the workspace if it needs a third
    argument. It may be `async`. An exception is a failure of the verifier, not a score of zero. `load` or the first
    call executes the file.
    """

    def __init__(self, function: UserFunction | GivenFunction) -> None:
        self._user = function
        self._arguments: tuple[str, ...] = ()

    def load(self) -> None:
        """Execute the file of the function."""
        self._arguments = self._arguments or _choose_arguments(self._user.function)

    async def __call__(self, task: Task, outcome: Outcome, workspace: Path) -> Any:
        """The score of this outcome."""
        self.load()
        user = self._user
        values = {
            "task": FullTaskView.of(task, workspace),
            "answer": outcome.answer,
            "target": task.target,
            "outcome": outcome,
            "workspace": workspace,
        }
        try:
            with capture_prints():
                return await call_function(user.function, tuple(values[name] for name in self._arguments), _SECONDS)
        except FunctionTimeout:
            raise VerifierFailure(f"{user.file.name}:{user.name} did not return within {_SECONDS:g} s.") from None
        except RolloutError:
            raise
        except (Exception, SystemExit) as error:  # the edge of a rollout: a crash becomes a recorded failure
            raise VerifierFailure(f"{user.file.name}:{line_of(error, user.file)}: {describe(error)}") from error


def python_verifier(location: str, options: VerifierOptions) -> PythonVerifier:
    """The verifier `python:FILE.py:function`. It runs in this process and cannot be sandboxed."""
    if options.sandbox_commands:
        raise ValueError(
            "it runs in this process and cannot be sandboxed; use a `command:` verifier, or leave out --sandbox-agent"
        )
    return PythonVerifier(find_function(location, base_folder(location.rpartition(":")[0], options.folder)))


def command_verifier(command: str, options: VerifierOptions) -> Scorer:
    """Runs a program in the workspace of the rollout, with `{"task", "answer"}` on stdin.

    It must print the score (`0.5`) as its last line and end with exit code 0; anything else is a failure of the
    verifier. HOME and TMPDIR are empty folders outside the workspace: the agent must not plant settings in them.
    """
    folder = command_folder(command, options.folder)
    argv = command_line(command, folder)
    name = Path(argv[0]).name
    sandbox = make_command_sandbox(argv, folder, container=options.container) if options.sandbox_commands else None

    async def score(task: Task, outcome: Outcome, workspace: Path) -> float:
        request = _request_json(task, outcome)
        with private_folder() as private:
            env = private_environment(private) | {"SKILLSV_TASK_ID": task.id}
            try:
                done = await run_user_command(
                    argv,
                    workspace=workspace,
                    env=env,
                    stdin=request,
                    limits=_LIMITS,
                    sandbox=sandbox,
                    private=private,
                )
            except OSError as error:
                raise VerifierFailure(f"{name} cannot be started: {error.strerror}.") from error
        return _printed_score(done, name)

    return score


def inspect_score(name: str) -> Scorer:
    """The verifier `inspect`: reads the score that an Inspect agent received from the scorers of its own task.

    `inspect:match` or `inspect:match.part` names the score; without a name it is the first one.
    """

    async def score(_task: Task, outcome: Outcome, _workspace: Path) -> float:
        if not outcome.scores:
            raise VerifierFailure(
                "The agent returned no score; the verifier `inspect` needs --agent inspect:FILE.py@task, "
                "and a scorer that gives numbers."
            )
        chosen = name or next(iter(outcome.scores))
        if chosen not in outcome.scores:
            raise VerifierFailure(f"There is no score `{chosen}`; there are: {', '.join(outcome.scores)}.")
        return outcome.scores[chosen]

    return score


def _choose_arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that the function receives, in the order of its parameters."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return ("task", "answer")
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
    ]
    if positional and all(parameter.name in _ARGUMENTS for parameter in positional):
        return tuple(parameter.name for parameter in positional)
    required = [parameter for parameter in positional if parameter.default is parameter.empty]
    return ("task", "answer", "workspace")[: max(2, min(3, len(required)))]


def _request_json(task: Task, outcome: Outcome) -> bytes:
    return msgspec.json.encode({"task": full_task_fields(task), "answer": outcome.answer}) + b"\n"


def _printed_score(done: ProgramResult, name: str) -> float:
    """The score that a program printed. Raises VerifierFailure if there is none."""
    errors = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
    if done.timed_out:
        raise VerifierFailure(f"{name} did not end within {_LIMITS.seconds:g} s.")
    if done.code != 0:
        raise VerifierFailure(
            f"{name} ended with exit code {done.code}{f': {redact(errors[-1])[:300]}' if errors else '.'}"
        )
    lines = done.stdout.decode("utf-8", errors="replace").strip().splitlines()
    try:
        return float(lines[-1])
    except (IndexError, ValueError):
        last = repr(redact(lines[-1])[:60]) if lines else "nothing"
        raise VerifierFailure(f"{name} printed {last} as its last line instead of a score.") from None
