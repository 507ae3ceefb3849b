"""Agreement to what a run spends: a limit, `yes`, or a run that calls nothing but functions of the caller."""

from __future__ import annotations

from collections.abc import Iterable

from skillsv.api.inputs import FUNCTION, Inputs
from skillsv.errors import SettingsError
from skillsv.model.task import Task
from skillsv.tasks.verifiers.specs import split_spec
from skillsv.tasks.verifiers.table import runs_code


def require_consent(forecast: str, *, agreed: bool, own_code: bool) -> None:
    """Raise SettingsError unless the caller agreed to the forecast, or wrote all the code that spends."""
    if not (agreed or own_code):
        raise SettingsError(
            f"nobody agreed to this cost. {forecast}", hint="Pass a limit such as max_rollouts=500, or yes=True."
        )


def runs_only_own_code(inputs: Inputs, tasks: Iterable[Task]) -> bool:
    """Whether rollouts call only functions and objects of the caller: no model and no program that a text names."""
    return inputs.has_own_agent and not any(_reaches_outside(task.verifier) for task in tasks)


def _reaches_outside(verifier: str) -> bool:
    """Whether a verifier is a judge model, a program, or code in a file."""
    if verifier.startswith(FUNCTION):
        return False
    return runs_code(verifier) or split_spec(verifier)[0] == "judge"
