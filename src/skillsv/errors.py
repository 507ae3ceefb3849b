"""All errors that the product reports, with the exit code that the command line gives to each of them.

    SkillSVError                exit 1    something failed
    ├── InputError              exit 2    the input cannot be used
    │   ├── SkillError          exit 2    there is no skill at this path
    │   ├── TaskError           exit 2    the tasks cannot be read
    │   ├── CoalitionError      exit 2    these units are not a coalition of the skill
    │   ├── SettingsError       exit 2    a setting is unknown or out of range
    │   ├── OutputError         exit 2    the result cannot be written to this path
    │   ├── LedgerError         exit 2    the ledger is damaged, newer, or in use
    │   └── RecordsError        exit 2    the run has too few records for this question
    ├── GateNotMet              exit 3    a gate did not find the evidence that it requires
    │   ├── NoisyAgent          exit 3    the agent does not repeat itself, and the caller asked to stop then
    │   └── LowPower            exit 3    a proof would fail more often than not, so nothing more was spent
    ├── BudgetReached           exit 4    a limit on spending was reached; the partial result is saved
    ├── Unavailable             exit 5    an agent or verifier does not answer
    │   └── NoDifference        exit 5    the skill changes no score of the agent
    ├── RolloutError            exit 1    one rollout failed; the runner tries again or records a missing score
    │   ├── AgentFailure        exit 1    the agent gave no answer
    │   └── VerifierFailure     exit 1    the verifier gave no score
    └── Interrupted             exit 130  the user stopped the run; finished rollouts are saved

An error carries what happened, where, and what to do. The command line decides how to print it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class SkillSVError(Exception):
    """Something failed (exit code 1). `what` happened at `where`; `hint` says what to do.

    `document` is the result as JSON where a command was ended early and its result says why, else None.
    """

    exit_code = 1
    document: Mapping[str, object] | None = None

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        location = f"{self.where}: " if self.where else ""
        advice = f" {self.hint}" if self.hint else ""
        return f"{location}{self.what}{advice}"


class InputError(SkillSVError):
    """An input of the user cannot be used (exit code 2)."""

    exit_code = 2


class SkillError(InputError):
    """There is no skill at the given path (exit code 2)."""


class TaskError(InputError):
    """The tasks cannot be read, or there are too few for the panels (exit code 2)."""


class CoalitionError(InputError):
    """The named units are unknown, or miss a unit on which they depend (exit code 2)."""


class SettingsError(InputError):
    """A setting is unknown, out of range, or contradicts another setting (exit code 2)."""


class OutputError(InputError):
    """The result cannot be written to the given path (exit code 2)."""


class LedgerError(InputError):
    """The ledger is damaged, was written by a newer version, or is in use by another run (exit code 2)."""


class RecordsError(InputError):
    """The records of a run are not enough to answer the question (exit code 2)."""


class GateNotMet(SkillSVError):
    """A gate did not find the evidence that it requires (exit code 3)."""

    exit_code = 3


class NoisyAgent(GateNotMet):
    """The agent does not repeat itself, and the caller asked to spend nothing more then (exit code 3)."""


class LowPower(GateNotMet):
    """A proof would fail more often than not, so nothing more was spent (exit code 3).

    `document` is the result as JSON, `skillsv.shrink/1`, with the reason and what would help.
    """

    def __init__(self, what: str, *, hint: str, document: Mapping[str, object]) -> None:
        super().__init__(what, hint=hint)
        self.document = document


class BudgetReached(SkillSVError):
    """A limit on spending was reached (exit code 4). The partial result is saved."""

    exit_code = 4


class Unavailable(SkillSVError):
    """An agent, verifier or service cannot be reached, or fails every time (exit code 5)."""

    exit_code = 5


class NoDifference(Unavailable):
    """The skill changes no score of the agent (exit code 5).

    `examples` hold the labelled texts of one task each. They are neither shortened nor escaped: the code that shows
    them must do both.
    """

    def __init__(self, what: str, *, hint: str, examples: Sequence[Mapping[str, str]]) -> None:
        super().__init__(what, hint=hint)
        self.examples = tuple(examples)


class RolloutError(SkillSVError):
    """One rollout has no score (exit code 1 if it reaches the command line).

    `kind` is a value of `FailureKind`, `retry_after` the wait in seconds that a service asked for, `usage` the `Usage`
    before the failure, None if unknown.
    """

    def __init__(
        self, what: str, *, kind: str = "crash", retry_after: float | None = None, usage: object = None
    ) -> None:
        super().__init__(what)
        self.kind = kind
        self.retry_after = retry_after
        self.usage = usage


class AgentFailure(RolloutError):
    """The agent gave no answer: a timeout, a crash, a rate limit (exit code 1). A wrong answer is not a failure."""


class VerifierFailure(RolloutError):
    """The verifier could not decide whether the answer is right (exit code 1)."""

    def __init__(self, what: str) -> None:
        super().__init__(what, kind="verifier")


class Interrupted(SkillSVError):
    """The user stopped the run (exit code 130). Finished rollouts are saved."""

    exit_code = 130
