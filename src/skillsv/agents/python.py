"""The agent `python:FILE.py:name`: calls a Python function of the user, plain or `async`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure, RolloutError, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.user_function import FunctionTimeout, UserFunction, call_function, describe, find_function, line_of
from skillsv.sandbox.user_views import FullTaskView, PublicTaskView, SkillView


class PythonAgent:
    """Calls `name(skill, task, replicate)`, which returns the answer as text or an `Outcome`.

        def run(skill, task, replicate):
            return "42" if skill and "the answer is 42" in skill.text else "?"

    `skill` is None for the bare agent, else it has `.text`, `.files` and `.folder`. `task` has the fields of the task
    without those that grade the answer (`show_target` adds them). A plain function runs in a thread; with several jobs,
    several threads call it at the same time. An exception is a failure of the infrastructure, never a wrong answer;
    raise `skillsv.errors.AgentFailure` to set its kind.
    """

    def __init__(self, place: str, options: AgentOptions) -> None:
        self._options = options
        self._user = find_function(place, options.folder)
        settings = f"{options.skill_dir or ''}:{not options.show_target}"
        self._fingerprint = f"python/1:{self._user.digest}:{settings}"

    @property
    def fingerprint(self) -> str:
        """Covers the name of the function, its file and the files in the same folder that it imports."""
        return self._fingerprint

    def load(self) -> None:
        """Import the file of the function, and check that the function can be called as an agent."""
        require_signature(self._user)

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Call the function once."""
        function = self._user.function
        bare = skill is None or skill.empty
        view = FullTaskView if self._options.show_target else PublicTaskView
        arguments = (
            None if bare or skill is None else SkillView(skill, workspace, self._options.skill_dir),
            view.of(task, workspace),
            replicate,
        )
        try:
            answer = await call_function(function, arguments, self._options.timeout)
        except FunctionTimeout:
            raise AgentFailure(
                f"{self._name} did not return within {self._options.timeout:g} s.", kind=FailureKind.TIMEOUT
            ) from None
        except RolloutError:
            raise
        except (Exception, SystemExit) as error:  # the edge of a rollout: a crash becomes a recorded failure
            line = line_of(error, self._user.file)
            raise AgentFailure(f"{self._user.file.name}:{line}: {describe(error)}", kind=FailureKind.CRASH) from error
        return self._outcome(answer)

    @property
    def _name(self) -> str:
        return f"{self._user.file.name}:{self._user.name}"

    def _outcome(self, answer: Any) -> Outcome:
        if isinstance(answer, str):
            answer = Outcome(answer=answer)
        if not isinstance(answer, Outcome):
            raise AgentFailure(
                f"{self._name} returned {type(answer).__name__} instead of text or an Outcome.",
                kind=FailureKind.BAD_OUTPUT,
            )
        if len(answer.answer) > self._options.output_bytes:
            raise AgentFailure(
                f"{self._name} returned more than {self._options.output_bytes} characters.",
                kind=FailureKind.BAD_OUTPUT,
            )
        return answer


def require_signature(user: UserFunction) -> None:
    """Raise SettingsError if the function cannot take three arguments. A function without a signature is accepted."""
    try:
        signature = inspect.signature(user.function)
    except ValueError:  # some functions written in C have no signature
        return
    try:
        signature.bind("skill", "task", "replicate")
    except TypeError as error:
        raise SettingsError(
            f"`{user.name}{signature}` cannot be called as an agent: {error}.",
            where=user.file.name,
            hint=f"Write `def {user.name}(skill, task, replicate)`.",
        ) from None
