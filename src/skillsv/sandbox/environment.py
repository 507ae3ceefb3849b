"""The environment a program of a rollout sees: declared names and private folders, nothing else of the user's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from skillsv.sandbox.workspace import disk_trouble

_ALWAYS = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


def private_environment(workspace: Path, forward: Sequence[str] = ()) -> dict[str, str]:
    """PATH, the language, the `forward`ed names, and a HOME and TMPDIR inside the workspace (hidden folders there).

    Whoever forwards HOME (a coding agent that keeps its login there) gets the real one, with the skills in it.
    """
    private = {"HOME": workspace / ".home", "TMPDIR": workspace / ".tmp"}
    with disk_trouble(workspace):
        for folder in private.values():
            folder.mkdir(exist_ok=True)
    kept = {name: os.environ[name] for name in (*_ALWAYS, *forward) if name in os.environ}
    return {"PATH": os.defpath, **{name: str(folder) for name, folder in private.items()}, **kept}
