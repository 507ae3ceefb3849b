"""What must hold before a shrink spends anything: something may go, and judge and editor can be called."""

from __future__ import annotations

import shutil

from skillsv.agents import make_agent
from skillsv.agents.editor import make_editor
from skillsv.errors import SettingsError
from skillsv.model.skill import CompiledSkill
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import ValuationJob
from skillsv.sandbox.sources import command_line

COMMAND = "command:"
"""The beginning of the name of an editor that is a program."""


def require_removable(compiled: CompiledSkill, kept: frozenset[str]) -> None:
    """Raise SettingsError where no unit may go."""
    if not compiled.execution:
        raise SettingsError("this skill has nothing beside its trigger that could go.", where=compiled.skill.main)
    if all(compiled.reverse_closure(frozenset({unit})) & kept for unit in compiled.execution):
        raise SettingsError(
            "nothing may go: --keep and protected regions hold every unit, or what needs it.",
            where=compiled.skill.main,
            hint="Keep fewer units.",
        )


def require_judge(job: ValuationJob) -> None:
    """Raise SettingsError where there is no judge to ask, or it cannot be called."""
    if not job.settings.judge:
        raise SettingsError("the judge's opinion needs a judge.", hint="Name an agent with --judge.")
    make_client(make_agent, job.settings.judge, job.settings, job.folder)


def require_editor(spec: str, job: ValuationJob) -> None:
    """Raise SettingsError where there is no such editor."""
    make_client(make_editor, spec, job.settings, job.folder)
    if spec.startswith(COMMAND):
        program = command_line(spec.removeprefix(COMMAND), job.folder)[0]
        if shutil.which(program) is None:
            raise SettingsError(
                f"the editor {program} is not a program that can be started.",
                hint="Check its path and that it is executable.",
            )
