"""Agents that are a Python function of the user, plain or `async`: `python:FILE.py:name`, or a function object."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure, RolloutError, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.captured_prints import capture_prints
from skillsv.sandbox.user_function import (
    FunctionTimeout,
    GivenFunction,
    UserFunction,
    call_function,
    describe,
    find_function,
    line_of,
)
from skillsv.sandbox.user_views import FullTaskView, SkillView, TaskView

ARGUMENTS = ("skill", "task", "replicate")
"""What an agent's function receives. The last one may be left out of its parameters."""


class PythonAgent:
    """Calls `name(skill, task)` or `name(skill, task, replicate)`, which returns the answer as text or an `Outcome`.

        def run(skill, task):
            return "42" if skill and "the answer is 42" in skill.text else "?"

    `skill` is None for the bare agent, else it has `.text`, `.files` and `.folder`. `task` has the fields of the task
    without those that grade the answer (`show_target` adds them). A plain function runs in a thread; with several jobs,
    several threads call it at the same time. What it prints becomes the transcript, unless the outcome has its own, and
    goes to `agent.log` in the run folder. An exception is a failure of the infrastructure, never a wrong answer; raise
    `skillsv.errors.AgentFailure` to set its kind.
    """

    def __init__(self, function: UserFunction | GivenFunction, options: AgentOptions) -> None:
        self._options = options
        self._user = function
        self._arguments = len(ARGUMENTS)
        scheme = "python/1" if isinstance(function, UserFunction) else "function/1"
        self._inputs = AgentInputs(options, lambda: function.watch)
        digest = (
            function.digest
            if options.agent_version is None
            else self._inputs.digest_code([function.name], function.file.name)
        )
        self._fingerprint = self._inputs.extend(
            f"{scheme}:{digest}:{options.skill_dir or ''}:{not options.show_target}"
        )

    @property
    def fingerprint(self) -> str:
        """Covers forwarded values, and the function as its digest does: see `UserFunction` and `GivenFunction`."""
        return self._fingerprint

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._inputs.find_change()

    def load(self) -> None:
        """Import the file of the function, and check that the function can be called as an agent."""
        self._arguments = count_arguments(self._user)

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Call the function once."""
        bare = skill is None or skill.empty
        view = FullTaskView if self._options.show_target else TaskView
        arguments = (
            None if bare or skill is None else SkillView(skill, workspace, self._options.skill_dir),
            view.of(task, workspace),
            replicate,
        )
        with capture_prints(f"task {task.id}, replicate {replicate}{', bare agent' if bare else ''}") as printed:
            answer = await call_as_agent(self._user, arguments[: self._arguments], self._options.timeout)
        outcome = self._outcome(answer)
        if printed and outcome.transcript is None:
            outcome = replace(outcome, transcript="".join(printed))
        return outcome

    def _outcome(self, answer: Any) -> Outcome:
        name = f"{self._user.file.name}:{self._user.name}"
        if isinstance(answer, str):
            answer = Outcome(answer=answer)
        if not isinstance(answer, Outcome):
            raise AgentFailure(
                f"{name} returned {type(answer).__name__} instead of text or an Outcome.",
                kind=FailureKind.BAD_OUTPUT,
            )
        if len(answer.answer) > self._options.output_bytes:
            raise AgentFailure(
                f"{name} returned more than {self._options.output_bytes} characters.",
                kind=FailureKind.BAD_OUTPUT,
            )
        return answer


async def call_as_agent(user: UserFunction | GivenFunction, arguments: tuple[Any, ...], seconds: float | None) -> Any:
    """Call a function that stands for an agent. Whatever it raises becomes an AgentFailure, never a score."""
    try:
        return await call_function(user.function, arguments, seconds)
    except FunctionTimeout:
        raise AgentFailure(
            f"{user.file.name}:{user.name} did not return within {seconds:g} s.", kind=FailureKind.TIMEOUT
        ) from None
    except RolloutError:
        raise
    except (Exception, SystemExit) as error:  # the edge of a rollout: a crash becomes a recorded failure
        where = f"{user.file.name}:{line_of(error, user.file)}"
        raise AgentFailure(f"{where}: {describe(error)}", kind=FailureKind.CRASH) from error


def python_agent(location: str, options: AgentOptions) -> PythonAgent:
    """The agent `python:FILE.py:name`."""
    return PythonAgent(find_function(location, options.folder), options)


def count_arguments(user: UserFunction | GivenFunction) -> int:
    """How many of `ARGUMENTS` the function takes: all, or all but the replicate. A function in C gets all of them.

    Raises SettingsError where it can take neither.
    """
    try:
        signature = inspect.signature(user.function)
    except ValueError:  # some functions written in C have no signature
        return len(ARGUMENTS)
    for count in (3, 2):
        try:
            signature.bind(*ARGUMENTS[:count])
        except TypeError as error:
            reason = error
        else:
            return count
    name = user.name.rpartition(".")[2]
    raise SettingsError(
        f"`{name}{signature}` cannot be called as an agent: {reason}.",
        where=user.file.name,
        hint=f"Write `def {name}(skill, task)` or `def {name}(skill, task, replicate)`.",
    ) from None
