"""The server of the live page, which ends the streams of open pages when it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn


class PageServer(uvicorn.Server):
    """A server that calls `end_streams` before it waits for open answers: a stream of events has no end of its own."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        self._end_streams()
        await super().shutdown(sockets)
