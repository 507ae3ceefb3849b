"""Binds 127.0.0.1 and serves the live page until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from skillsv.errors import SettingsError

TOKEN_BYTES = 24
"""Random bytes of the token in the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewServer:
    """A bound socket and the address of the page. The token is new for each start."""

    folder: Path
    listening: socket.socket
    token: str

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.listening.getsockname()[1])

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def serve(self, started: Callable[[object], None] = lambda _server: None) -> None:
        """Serve until Ctrl-C. `started` receives the server, whose `should_exit` ends it."""
        import uvicorn

        from skillsv.view.app import ViewApp
        from skillsv.view.guard import Guard
        from skillsv.view.page_server import PageServer

        app = ViewApp(self.folder)
        guarded = Guard(app.routes(), token=self.token, port=self.port)
        config = uvicorn.Config(
            guarded, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1
        )
        server = PageServer(config, app.end_streams)
        started(server)
        server.run(sockets=[self.listening])


def open_server(folder: Path, port: int = 0) -> ViewServer:
    """Bind a port of 127.0.0.1, any free one for 0. Raises SettingsError where that cannot be done."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise SettingsError("The live page needs starlette and uvicorn.", hint="Install: pip install 'skillsv[view]'.")
    if not folder.is_dir():
        raise SettingsError("this is no folder.", where=str(folder), hint="Name the folder that holds the run folders.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise SettingsError(f"port {port} cannot be used: {error.strerror}.", hint="Choose another --port.") from error
    return ViewServer(folder=folder.resolve(), listening=listening, token=secrets.token_urlsafe(TOKEN_BYTES))
