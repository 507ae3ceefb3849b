"""Specifications of verifiers such as `contains` or `python:check.py:score`: their parts and the files behind them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillsv.errors import SettingsError
from skillsv.sandbox.sources import command_line, command_sources, python_sources


def split_spec(spec: str) -> tuple[str, str]:
    """The kind of verifier and what follows the colon."""
    scheme, _, rest = spec.strip().partition(":")
    return scheme, rest


def default_spec(target: Any) -> str:
    """The verifier of a task that names none: by the type of its target, empty where there is no target.

    Text, true/false and lists of accepted answers are compared exactly, numbers numerically, objects as JSON.
    """
    if target is None:
        return ""
    if isinstance(target, dict):
        return "json"
    return "numeric" if isinstance(target, (int, float)) and not isinstance(target, bool) else "exact"


def base_folder(name: str, folder: Path) -> Path:
    """Where a file named in a specification is looked up: beside the tasks, else where the user stands."""
    return folder if (folder / name).exists() else Path.cwd()


def command_folder(text: str, folder: Path) -> Path:
    """The folder from which the words of a command are files: the first of the two that has any of them."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    return next((base_folder(word, folder) for word in words if (folder / word).exists()), Path.cwd())


def verifier_sources(spec: str, folder: Path) -> Sequence[Path]:
    """The files whose bytes decide what this verifier says; none where they cannot be found (making it will say so)."""
    scheme, rest = split_spec(spec)
    if scheme == "judge":
        return verifier_sources(rest, folder)
    if scheme == "python":
        name = rest.rpartition(":")[0]
        file = base_folder(name, folder) / name
        return python_sources(file) if name and file.is_file() else []
    if scheme == "command":
        try:
            return command_sources(command_line(rest, command_folder(rest, folder)))
        except SettingsError:
            return []
    return []
