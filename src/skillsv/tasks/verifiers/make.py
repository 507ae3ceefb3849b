"""From specifications to one verifier that serves all tasks, each by its own rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.errors import RolloutError, SettingsError, TaskError, VerifierFailure
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.user_function import describe, load_code
from skillsv.tasks.verifiers.harbor import harbor
from skillsv.tasks.verifiers.judge import judge as judge_verifier
from skillsv.tasks.verifiers.pattern import regex
from skillsv.tasks.verifiers.scoring import Scorer, checked_score, own_score, scorer_of
from skillsv.tasks.verifiers.specs import default_spec, split_spec
from skillsv.tasks.verifiers.target import choice, contains, exact, json_equal, numeric
from skillsv.tasks.verifiers.user import PythonVerifier, command_verifier

JudgeMaker = Callable[[str], Agent]
"""Makes the judge from what follows `judge:` (empty for plain `judge`)."""


def make_verifier(
    tasks: Sequence[Task], *, folder: Path, default: str | None = None, judge: JudgeMaker | None = None
) -> Verifier:
    """One verifier for all tasks: each is scored by its own `verifier`, else `default`, else by its target's type.

    Everything that can be wrong with a specification or a target is found here, before anything is spent: a TaskError
    names the task. Files are looked up in `folder` (where the tasks lie), then in the current folder. `judge` makes the
    agent that grades prose; without it such tasks are refused.
    """
    verifier = _ByTask(folder=folder, default=default or "", judge=judge, ready={}, shared={}, judges={})
    for task in tasks:
        verifier.scorer(task)
    return verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByTask:
    """Scores each task with the scorer of its specification, made once."""

    folder: Path
    default: str
    judge: JudgeMaker | None
    ready: dict[tuple[str, str], Scorer]
    shared: dict[str, Scorer]
    judges: dict[str, Agent]

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome, checked to be one."""
        scorer = self.scorer(task)
        load_code(scorer)  # outside: a file that cannot be loaded is no failure of this rollout alone
        try:
            value = await scorer(task, outcome, workspace)
        except RolloutError:
            raise
        except Exception as error:  # the edge of a rollout: a crash becomes a recorded failure
            raise VerifierFailure(f"The verifier {self.spec(task)} failed: {describe(error)}") from error
        return checked_score(value, f"The verifier {self.spec(task)}")

    def load(self) -> None:
        """Run the files of the user's functions that grade, or that judge."""
        for spec, scorer in self.shared.items():
            try:
                load_code(scorer)
            except SettingsError as error:
                raise TaskError(f"The verifier `{spec}`: {_said(error)}", hint=error.hint) from error
        load_code(*self.judges.values())

    def spec(self, task: Task) -> str:
        """The specification that holds for a task."""
        return task.verifier or self.default or default_spec(task.target)

    def scorer(self, task: Task) -> Scorer:
        """The scorer of a task, made the first time it is asked for."""
        key = (task.id, task.digest)
        if key not in self.ready:
            self.ready[key] = self._make(task)
        return self.ready[key]

    def _make(self, task: Task) -> Scorer:
        spec = self.spec(task)
        if not spec:
            raise TaskError(
                f"The task `{task.id}` has neither a target nor a verifier.",
                hint="Add one of them, or give --verifier.",
            )
        try:
            return self._of_spec(spec, task)
        except (ValueError, SettingsError) as error:
            hint = error.hint if isinstance(error, SettingsError) else None
            raise TaskError(f"The verifier `{spec}` of the task `{task.id}`: {_said(error)}", hint=hint) from error

    def _of_spec(self, spec: str, task: Task) -> Scorer:
        scheme, rest = split_spec(spec)
        if scheme in BY_PROGRAM:
            if spec not in self.shared:
                self.shared[spec] = BY_PROGRAM[scheme](rest, self.folder)
            return self.shared[spec]
        if scheme == "judge":
            return judge_verifier(task.target, self._judge(task, rest))
        if scheme not in BY_TARGET:
            raise SettingsError("there is no such verifier.", hint=f"Known: {', '.join(_known())}.")
        if task.target is None:
            raise ValueError("the task has no target to compare with")
        return BY_TARGET[scheme](task.target, rest)

    def _judge(self, task: Task, rest: str) -> Agent:
        if self.judge is None:
            raise TaskError(
                f"The task `{task.id}` is graded by a judge model, and none was given.",
                hint="Name one, for instance --judge model:PROVIDER:NAME, or give --verifier.",
            )
        if rest not in self.judges:
            self.judges[rest] = self.judge(rest)
        return self.judges[rest]


def _said(error: ValueError | SettingsError) -> str:
    if isinstance(error, SettingsError):
        return f"{error.where}: {error.what}" if error.where else error.what
    return f"{error}."


def _known() -> list[str]:
    return [*BY_TARGET, "python:FILE.py:function", "command:PROGRAM ...", "judge", "inspect"]


BY_TARGET: Mapping[str, Callable[..., Scorer]] = {
    "exact": lambda target, _rest: scorer_of(exact(target)),
    "contains": lambda target, _rest: scorer_of(contains(target)),
    "regex": lambda target, _rest: regex(target),
    "numeric": lambda target, rest: scorer_of(numeric(target, rest)),
    "choice": lambda target, _rest: scorer_of(choice(target)),
    "json": lambda target, _rest: scorer_of(json_equal(target)),
}
"""Verifiers that compare an answer with the task's target."""

BY_PROGRAM: Mapping[str, Callable[[str, Path], Scorer]] = {
    "python": PythonVerifier,
    "command": command_verifier,
    "harbor": lambda rest, _folder: harbor(rest),
    "inspect": lambda rest, _folder: own_score(rest),
}
"""Verifiers that are programs or functions; one serves all tasks that name it."""
