"""`skillsv lsp`: findings and values in an editor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.errors import SettingsError


def lsp(
    *,
    run_dir: Annotated[
        list[Path] | None, Parameter(negative=(), help="A run folder elsewhere than in .skillsv above a skill.")
    ] = None,
) -> int:
    """skillsv lsp

    Speak the Language Server Protocol on stdin and stdout; editors start it. Shows the findings of 'lint' as you type,
    and beside each line its value and verdict in the last run of the skill; offers to delete lines whose deletion is
    proved. A line that has changed since the run shows no value. Runs nothing, writes nothing, costs nothing.
    """
    try:
        from skillsv.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name not in {"pygls", "lsprotocol"}:
            raise
        raise SettingsError(
            "The language server needs the package pygls.", hint="Install it: pip install 'skillsv[lsp]'."
        ) from error
    # The server closes its output at the end. What anything else prints would break the protocol: it goes to stderr.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    make_server([folder.absolute() for folder in run_dir or ()]).start_io(stdout=output)
    return 0
