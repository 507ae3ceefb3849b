"""Specifications of verifiers, such as `contains` or `python:check.py:score`: their parts and the files they use."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillsv.errors import SettingsError
from skillsv.sandbox.covered_files import CoveredFiles, command_files, python_files
from skillsv.sandbox.sources import command_line

GRADING_VERSIONS: Mapping[str, int] = {
    "exact": 1,
    "contains": 1,
    "regex": 1,
    "numeric": 1,
    "choice": 1,
    "json": 1,
    "all": 1,
    "judge": 1,
    "harbor": 1,
}
"""The version of our own grading code, by verifier. Raise it when the same answer may get another score.

`all` joins the others: raise it with each of them.

Version 1 adds nothing to the digest of a task: it is what earlier versions of SkillSV stored.
"""


def grading_inputs(spec: str) -> list[str]:
    """What the digest of a task covers of our own grading code: its version, from 2 on."""
    scheme = split_spec(spec)[0]
    version = GRADING_VERSIONS.get(scheme, 1)
    return [f"grading {scheme} {version}"] if version > 1 else []


def split_spec(spec: str) -> tuple[str, str]:
    """The name of the verifier, and the argument after the first colon."""
    scheme, _, argument = spec.strip().partition(":")
    return scheme, argument


def default_spec(target: Any) -> str:
    """The verifier of a task that names none, by the type of its target; empty without a target.

    Text, true/false and lists of accepted answers are compared exactly, numbers numerically, objects as JSON.
    """
    if target is None:
        return ""
    if isinstance(target, dict):
        return "json"
    return "numeric" if isinstance(target, (int, float)) and not isinstance(target, bool) else "exact"


def base_folder(name: str, folder: Path) -> Path:
    """The folder of a file that a specification names: `folder` (of the tasks) if it is there, else the current one."""
    return folder if (folder / name).exists() else Path.cwd()


def command_folder(text: str, folder: Path) -> Path:
    """The folder of the files that a command names: `folder` if it has one of them, else the current folder."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    return next((base_folder(word, folder) for word in words if (folder / word).exists()), Path.cwd())


def verifier_files(spec: str, folder: Path) -> CoveredFiles:
    """The files that decide the scores of a verifier; none if they do not exist, which `make_verifier` reports."""
    scheme, argument = split_spec(spec)
    if scheme == "judge":
        return verifier_files(argument, folder)
    if scheme == "python":
        name = argument.rpartition(":")[0]
        file = base_folder(name, folder) / name
        return python_files(file) if name and file.is_file() else CoveredFiles()
    if scheme == "command":
        base = command_folder(argument, folder)
        try:
            return command_files(command_line(argument, base), base)
        except SettingsError:
            return CoveredFiles()
    return CoveredFiles()
