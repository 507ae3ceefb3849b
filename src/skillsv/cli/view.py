"""`skillsv view`: a live page over all runs below a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.errors import Interrupted


def view(
    folder: Annotated[Path, Parameter(help="The folder below which runs are looked for.")] = Path(),
    /,
    *,
    port: Annotated[int, Parameter(help="The port to listen on; 0 for any free one.")] = 0,
) -> int:
    """skillsv view .skillsv

    Serve a page over all runs below a folder, on this machine alone: live progress, the report of each run, two runs
    side by side, and transcripts with search. It reads run folders and writes nothing but a request to stop a run.
    """
    from skillsv.view.server import open_server

    server = open_server(folder, port)
    print(f"Runs below {server.folder}: {server.address}", flush=True)
    print("The address holds a token: do not share it. Ctrl-C ends the server.", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        return Interrupted.exit_code  # the usual end of a server: nothing to explain
    return 0
