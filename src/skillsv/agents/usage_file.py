"""The file in which a program says what it used: its path is in the variable SKILLSV_USAGE.

    {"input_tokens": 1800, "output_tokens": 60, "cost_usd": 0.0105, "turns": 3, "skill_opened": true}

All fields may be left out; other fields are ignored. It is read however the program ends: failures cost money, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from skillsv.model.rollout import Usage
from skillsv.sandbox.workspace import convert_disk_errors

USAGE_VARIABLE = "SKILLSV_USAGE"
"""The environment variable with the path of the file."""

_NAME = ".skillsv/usage.json"
"""The file in the workspace. It does not exist when the program starts; its folder does."""

_MOST_BYTES = 65536
"""A longer file is not read."""


class ReportedUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a program reports. `problem` says why its file cannot be used; the other fields are then unknown."""

    input_tokens: Annotated[int, Meta(ge=0)] | None = None
    output_tokens: Annotated[int, Meta(ge=0)] | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None
    turns: Annotated[int, Meta(ge=0)] | None = None
    skill_opened: bool | None = None
    problem: str | None = None

    @property
    def usage(self) -> Usage:
        """Tokens and money."""
        return Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens, usd=self.cost_usd)


def usage_path(workspace: Path) -> Path:
    """The path for SKILLSV_USAGE. Its folder is made here."""
    path = workspace / _NAME
    with convert_disk_errors(workspace):
        path.parent.mkdir(exist_ok=True)
    return path


def read_usage(workspace: Path) -> ReportedUsage:
    """What the program wrote; nothing is known where there is no file. An answer is never lost because of it."""
    path = workspace / _NAME
    try:
        if path.is_symlink() or not path.is_file():
            return ReportedUsage()
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return ReportedUsage(problem=f"it is longer than {_MOST_BYTES} bytes")
        found = msgspec.json.decode(data, type=ReportedUsage)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        return ReportedUsage(problem=str(error))
    return msgspec.structs.replace(found, problem=None)
