"""What a coding program needs on this machine: `doctor --agent NAME:MODEL` lists it, and a run refuses without it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from skillsv.agents.coding.installed import find_installed
from skillsv.agents.coding.program import CodingProgram
from skillsv.agents.options import AgentOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement: its name, whether it is met (None: cannot be told), what was found, and what to do if not."""

    what: str
    met: bool | None
    found: str
    hint: str = ""


def find_requirements(program: CodingProgram, model: str, options: AgentOptions) -> list[Requirement]:
    """Check everything that can be seen without a call of the model."""
    return [*_check_program(program), *_check_other_programs(program), _check_key(program, model, options)]


def forwarded_keys(program: CodingProgram, model: str) -> tuple[str, ...]:
    """The variables with keys that are set and reach the program."""
    return tuple(name for name in program.keys(model) if os.environ.get(name))


def _check_program(program: CodingProgram) -> list[Requirement]:
    installed = find_installed(program.executable)
    if installed is None:
        hint = f"Install it: {program.package}."
        return [Requirement(what="program", met=False, found=f"`{program.executable}` is not on PATH", hint=hint)]
    least = ".".join(map(str, program.least_version))
    found = Requirement(what="program", met=True, found=str(installed.path))
    if not installed.number:
        return [found, Requirement(what="version", met=None, found=f"unknown; tried with {least} and later")]
    old = installed.number < program.least_version
    hint = f"Its output may differ. Update it: {program.package}." if old else ""
    version = f"{installed.version}, older than {least}" if old else installed.version
    return [found, Requirement(what="version", met=not old, found=version, hint=hint)]


def _check_other_programs(program: CodingProgram) -> list[Requirement]:
    return [
        Requirement(
            what=name,
            met=shutil.which(name) is not None,
            found=shutil.which(name) or f"`{name}` is not on PATH: {reason}",
            hint="" if shutil.which(name) else f"Install `{name}`.",
        )
        for name, reason in program.uses
    ]


def _check_key(program: CodingProgram, model: str, options: AgentOptions) -> Requirement:
    keys = program.keys(model)
    present = forwarded_keys(program, model)
    if present:
        return Requirement(what="key", met=True, found=f"{present[0]} is set")
    if options.forward_env:
        return Requirement(what="key", met=None, found=f"{' '.join(keys)} not set; --forward-env may hold a login")
    return Requirement(
        what="key",
        met=False,
        found=f"none of {', '.join(keys)} is set" if len(keys) > 1 else f"{keys[0]} is not set",
        hint="Logins in your home are not used: each rollout has a home of its own. Set a key in the environment.",
    )
