"""Refuses requests that do not come from the page that this server gave out: other hosts, origins, or tokens."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""


class Guard:
    """Checks Host, Origin and token before anything else, and removes the token from the path.

    The Host is checked against names that other sites point to this machine (DNS rebinding), the Origin against pages
    of other sites, and the token, the first part of every path, against other users and programs of this machine.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        first, slash, rest = scope["path"].lstrip("/").partition("/")
        refused = self._why_refused(scope["method"], headers, first)
        if refused is not None:
            await PlainTextResponse(f"{refused}\n", status_code=403)(scope, receive, send_with_headers)
            return
        if not slash:  # without it the addresses in the page would lose the token
            await RedirectResponse(f"/{self._token.decode()}/")(scope, receive, send_with_headers)
            return
        await self._app({**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode()}, receive, send_with_headers)

    def _why_refused(self, method: str, headers: Mapping[str, str], token: str) -> str | None:
        if headers.get("host", "") not in self._hosts:
            return "This server answers only on this machine."
        if "origin" in headers and headers["origin"] not in self._origins:
            return "Pages of other sites may not use this server."
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return "The address lacks the token: use the one that 'skillsv view' printed."
        if method == "POST" and headers.get("origin") not in self._origins:
            return "Only the page itself may ask for this."
        return None
