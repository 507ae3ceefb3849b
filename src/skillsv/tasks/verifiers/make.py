"""Makes the verifier of a run: it scores each task by the task's own specification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.errors import RolloutError, SettingsError, TaskError, VerifierFailure
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.covered_files import FileWatch, find_change
from skillsv.sandbox.user_function import describe, load_code
from skillsv.tasks.verifiers.judge import judge as judge_verifier
from skillsv.tasks.verifiers.scorer import Scorer, VerifierOptions, check_score
from skillsv.tasks.verifiers.specs import default_spec, split_spec, verifier_files
from skillsv.tasks.verifiers.table import EXTERNAL_VERIFIERS, KNOWN_SPECS, TARGET_VERIFIERS

JudgeMaker = Callable[[str], Agent]
"""Makes the judge from the text after `judge:` (empty for plain `judge`)."""


def make_verifier(
    tasks: Sequence[Task],
    *,
    folder: Path,
    default: str | None = None,
    judge: JudgeMaker | None = None,
    sandbox: bool = True,
    sandbox_commands: bool = False,
    container: str = "",
    network: bool = False,
) -> Verifier:
    """One verifier for all tasks: each is scored by its own `verifier`, else by `default`, else by its target's type.

    Wrong specifications and targets are found here, before the first rollout: a TaskError names the task. Files are
    looked up in `folder` (the folder of the tasks), then in the current folder. `judge` makes the agent that grades
    prose; without it, tasks that need a judge are refused. Programs that a task brings (the tests of Harbor tasks) run
    in the sandbox unless `sandbox` is False, and with the network only if `network` is True and the task asks for it.
    With `sandbox_commands`, `command:` verifiers run in it, too, with the network. `container` is the container program
    that is the sandbox, with its image (empty: bubblewrap).
    """
    options = VerifierOptions(
        folder=folder,
        sandbox=sandbox,
        sandbox_commands=sandbox_commands,
        container=container,
        network=network,
    )
    verifier = _VerifierByTask(
        options=options, default=default or "", make_judge=judge, by_task={}, by_spec={}, judges={}, watches={}
    )
    for task in tasks:
        verifier.scorer(task)
    return verifier


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerifierByTask:
    """Scores each task with the scorer of its specification. Scorers are made once.

    `by_task` holds them by id and digest of the task, `by_spec` those that several tasks share, `judges` the agents of
    the verifier `judge` by the text after `judge:`, `watches` the files of those that run code of the user.
    """

    options: VerifierOptions
    default: str
    make_judge: JudgeMaker | None
    by_task: dict[tuple[str, str], Scorer]
    by_spec: dict[str, Scorer]
    judges: dict[str, Agent]
    watches: dict[str, FileWatch]

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome, a number in [0, 1]."""
        scorer = self.scorer(task)
        load_code(scorer)  # outside the `try`: a file that cannot be loaded ends the run, not only this rollout
        try:
            value = await scorer(task, outcome, workspace)
        except RolloutError:
            raise
        except Exception as error:  # the edge of a rollout: a crash becomes a recorded failure
            raise VerifierFailure(f"The verifier {self.spec(task)} failed: {describe(error)}") from error
        return check_score(value, f"The verifier {self.spec(task)}")

    def load(self) -> None:
        """Execute the files of the user's verifiers and judges."""
        for spec, scorer in self.by_spec.items():
            try:
                load_code(scorer)
            except SettingsError as error:
                raise TaskError(f"The verifier `{spec}`: {_message(error)}", hint=error.hint) from error
        load_code(*self.judges.values())

    def find_change(self) -> Path | None:
        """A file of a verifier or judge that has changed since they were made."""
        return find_change(*self.watches.values(), *self.judges.values())

    def spec(self, task: Task) -> str:
        """The specification that applies to a task."""
        return task.verifier or self.default or default_spec(task.target)

    def scorer(self, task: Task) -> Scorer:
        """The scorer of a task. The first call makes it."""
        key = (task.id, task.digest)
        if key not in self.by_task:
            self.by_task[key] = self._make(task)
        return self.by_task[key]

    def _make(self, task: Task) -> Scorer:
        spec = self.spec(task)
        if not spec:
            raise TaskError(
                f"The task `{task.id}` has neither a target nor a verifier.",
                hint="Add one of them, or give --verifier."
                if task.should_trigger is None
                else "Tasks that only say `should_trigger` are for 'skillsv trigger'.",
            )
        try:
            return self._make_from_spec(spec, task)
        except (ValueError, SettingsError) as error:
            hint = error.hint if isinstance(error, SettingsError) else None
            raise TaskError(f"The verifier `{spec}` of the task `{task.id}`: {_message(error)}", hint=hint) from error

    def _make_from_spec(self, spec: str, task: Task) -> Scorer:
        scheme, argument = split_spec(spec)
        if scheme in EXTERNAL_VERIFIERS:
            if spec not in self.by_spec:
                self.watches[spec] = FileWatch(verifier_files(spec, self.options.folder))
                self.by_spec[spec] = EXTERNAL_VERIFIERS[scheme](argument, self.options)
            return self.by_spec[spec]
        if scheme == "judge":
            return judge_verifier(task.target, self._judge(task, argument))
        if scheme not in TARGET_VERIFIERS:
            raise SettingsError("there is no such verifier.", hint=f"Known: {', '.join(KNOWN_SPECS)}.")
        if task.target is None:
            raise ValueError("the task has no target to compare with")
        return TARGET_VERIFIERS[scheme](task.target, argument)

    def _judge(self, task: Task, argument: str) -> Agent:
        if self.make_judge is None:
            raise TaskError(
                f"The task `{task.id}` is graded by a judge model, and none was given.",
                hint="Name one, for instance --judge model:PROVIDER:NAME, or give --verifier.",
            )
        if argument not in self.judges:
            self.judges[argument] = self.make_judge(argument)
        return self.judges[argument]


def _message(error: ValueError | SettingsError) -> str:
    if isinstance(error, SettingsError):
        return f"{error.where}: {error.what}" if error.where else error.what
    return f"{error}."
