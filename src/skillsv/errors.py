"""Everything that can go wrong and be said in one sentence.

    SkillSVError                      exit 1   something failed
    ├── InputError                    exit 2   what was given cannot be used
    │   ├── SkillError                         there is no skill there
    │   ├── TaskError                          the tasks cannot be read
    │   ├── CoalitionError                     not a coalition of this skill
    │   ├── SettingsError                      a setting is out of range or unknown
    │   ├── OutputError                        the result cannot be written there
    │   ├── LedgerError                        the ledger is corrupt, newer, or in use
    │   └── RecordsError                       the run holds too little to say anything
    ├── GateNotMet                    exit 3   what was to be shown was not shown
    ├── BudgetReached                 exit 4   the limit came first; the partial result is kept
    ├── Unavailable                   exit 5   an agent or verifier does not answer
    │   └── NoDifference                       the skill changes no score of the agent
    ├── RolloutError                           one rollout failed; the runner retries or records it as missing
    │   ├── AgentFailure                       the agent gave no answer (never a wrong answer)
    │   └── VerifierFailure                    the verifier gave no score
    └── Interrupted                   exit 130 the user stopped it; everything finished is kept

An error carries what happened, where, and what to do; how that looks is the command line's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class SkillSVError(Exception):
    """Something failed: `what` happened, at `where`, and `hint` says what to do."""

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.hint}" if self.hint else ""
        return f"{place}{self.what}{advice}"


class InputError(SkillSVError):
    """What the user gave cannot be used as it is."""

    exit_code = 2


class SkillError(InputError):
    """There is no skill at the given place."""


class TaskError(InputError):
    """The tasks cannot be read, or do not make a panel."""


class CoalitionError(InputError):
    """The named units are not a coalition that may be rendered."""


class SettingsError(InputError):
    """A setting is unknown, out of range, or contradicts another."""


class OutputError(InputError):
    """The result cannot be written where it was asked for."""


class LedgerError(InputError):
    """The ledger is damaged, written by a newer version, or held by another run."""


class RecordsError(InputError):
    """The records of a run do not support what was asked of them."""


class GateNotMet(SkillSVError):
    """A gate asked for evidence that the data does not give."""

    exit_code = 3


class BudgetReached(SkillSVError):
    """A limit on spending was reached; the partial result is kept."""

    exit_code = 4


class Unavailable(SkillSVError):
    """An agent, verifier or service cannot be reached or keeps failing."""

    exit_code = 5


class NoDifference(Unavailable):
    """The skill changes no score. `examples` hold the labelled texts of one task each, neither cut nor escaped.

    Whoever shows them has to cut and to escape them.
    """

    def __init__(self, what: str, *, hint: str, examples: Sequence[Mapping[str, str]]) -> None:
        super().__init__(what, hint=hint)
        self.examples = tuple(examples)


class RolloutError(SkillSVError):
    """One rollout has no score. `kind` is a value of `FailureKind`; `retry_after` the wait a service asked for.

    `usage` is the `Usage` that was paid before it failed, None where nobody knows.
    """

    def __init__(
        self, what: str, *, kind: str = "crash", retry_after: float | None = None, usage: object = None
    ) -> None:
        super().__init__(what)
        self.kind = kind
        self.retry_after = retry_after
        self.usage = usage


class AgentFailure(RolloutError):
    """The agent gave no answer: a timeout, a crash, a rate limit. Never a wrong answer."""


class VerifierFailure(RolloutError):
    """The verifier could not say whether the answer is right."""

    def __init__(self, what: str) -> None:
        super().__init__(what, kind="verifier")


class Interrupted(SkillSVError):
    """The user interrupted; what had finished is saved."""

    exit_code = 130
