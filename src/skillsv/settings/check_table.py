"""The table `[check]` of a settings file: what `skillsv check` runs where no flag says it. Other commands ignore it."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import SettingsError

CHECK_TABLE = "check"
"""The name of the table. It is guarded as a whole: it names what is run, and how much may be lost."""


SKILL = "{skill}"
"""What stands for the folder of the skill in the path of the tasks."""


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What is run, and the loss that is allowed, in points.

    In `tasks`, `{skill}` stands for the folder of the skill; another relative path starts at the file.
    """

    tasks: str | None = None
    agent: str | None = None
    max_drop: float | None = None

    def named(self) -> dict[str, Any]:
        """What the table says, by key."""
        table: dict[str, Any] = msgspec.to_builtins(self)
        return {f"{CHECK_TABLE}.{name}": value for name, value in table.items() if value is not None}

    def located(self, folder: Path) -> CheckSettings:
        """The same, with a path of the tasks that starts at this folder, or at the skill."""
        if self.tasks is None or self.tasks.startswith(SKILL):
            return self
        return msgspec.structs.replace(self, tasks=str(folder / self.tasks))


def read_check_table(path: Path) -> tuple[CheckSettings, str]:
    """The table of a file, empty where there is none, and the digest of the bytes that were read."""
    if not path.is_file():
        return CheckSettings(), ""
    try:
        data = path.read_bytes()
        table = msgspec.convert(tomllib.loads(data.decode("utf-8")).get(CHECK_TABLE, {}), CheckSettings)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, msgspec.ValidationError) as error:
        raise SettingsError(f"the table [{CHECK_TABLE}] cannot be read: {error}.", where=str(path)) from error
    return table, hashlib.sha256(data).hexdigest()
