"""A fake provider on 127.0.0.1 with OpenAI's chat protocol, which returns errors on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

POLL_SECONDS = 0.02
"""How often the server looks whether it should end: with the usual half second every test waits that long at its end."""


class ProviderServer(ThreadingHTTPServer):
    """A server that accepts many connections at once: with the usual five, the system refuses some of sixteen."""

    request_queue_size = 128
    daemon_threads = True


class FakeProvider:
    """Answers each request with the next of `faults`; after the last fault, with `reply(request)`."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.reply: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: say("42")
        self.closing = threading.Event()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.requests.append(body)
                provider.paths.append(self.path)
                provider.headers.append({name.lower(): value for name, value in self.headers.items()})
                fault = provider.faults.pop(0) if provider.faults else ""
                (FAULTS | ANTHROPIC)[fault](self, provider, body)

        self._server = ProviderServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


def say(text: str | None, calls: list[tuple[str, str]] = (), finish: str | None = None) -> dict[str, Any]:
    """One answer of the assistant: its text, tool calls (name, arguments as JSON text), and the finish reason."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls)
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}


def envelope(choices: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, **choices}


def send(handler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def fail(status: int, message: str, *, code: str = "error", **headers: str):
    def act(handler, provider, body) -> None:
        key = handler.headers.get("Authorization") or handler.headers.get("X-Api-Key", "")
        words = message.replace("KEY", key)
        send(handler, status, json.dumps({"error": {"message": words, "type": code, "code": code}}).encode(), **headers)

    return act


def answer_normally(handler, provider, body) -> None:
    send(handler, 200, json.dumps(envelope(provider.reply(body))).encode())


def answer_with(text: str | None, finish: str):
    """One answer with this text and this finish reason."""
    body = json.dumps(envelope(say(text, finish=finish))).encode()
    return lambda handler, provider, _: send(handler, 200, body)


def cut(handler, provider, body) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def drop(handler, provider, body) -> None:
    handler.connection.close()
    handler.close_connection = True


def dribble(handler, provider, body) -> None:
    """Send one byte after the other without end: each byte comes fast enough for a read timeout."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    try:
        while not provider.closing.is_set():
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        return


def message(text: str, stop: str = "end_turn"):
    """An answer in Anthropic's protocol."""
    content = [{"type": "text", "text": text}] if text else []
    usage = {"input_tokens": 100, "output_tokens": 7}
    about = {"id": "x", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    body = json.dumps({**about, "content": content, "stop_reason": stop, "usage": usage}).encode()
    return lambda handler, provider, _: send(handler, 200, body)


ANTHROPIC: dict[str, Callable[..., None]] = {
    "anthropic": message("42"),
    "anthropic-refusal": message("", "refusal"),
    "anthropic-overflow": fail(400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"),
    "anthropic-529": fail(529, "Overloaded KEY", code="overloaded_error"),
}

FAULTS: dict[str, Callable[..., None]] = {
    "": answer_normally,
    "429": fail(429, "slow down KEY", code="rate_limit_exceeded", **{"Retry-After": "3"}),
    "429-far-date": fail(429, "slow down", **{"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}),
    "500": fail(500, "oops KEY"),
    "503": fail(503, "busy"),
    "529": fail(529, "overloaded"),
    "400": fail(400, "bad request KEY"),
    "405": fail(405, "no such method"),
    "408": fail(408, "too slow"),
    "409": fail(409, "try again"),
    "413": fail(413, "too large"),
    "401": fail(401, "Incorrect API key provided: KEY"),
    "404": fail(404, "no such model", code="model_not_found"),
    "402": fail(429, "You exceeded your current quota", code="insufficient_quota"),
    "overflow": fail(400, "maximum context length is 10 tokens", code="context_length_exceeded"),
    "llama-overflow": fail(
        400, "request (900 tokens) exceeds the available context size (512 tokens)", code="exceed_context_size_error"
    ),
    "malformed": lambda handler, provider, body: send(handler, 200, b'{"choices": [{"index": 0, "mess'),
    "html": lambda handler, provider, body: send(
        handler, 200, b"<html>gateway</html>", **{"Content-Type": "text/html"}
    ),
    "no-choices": lambda handler, provider, body: send(handler, 200, json.dumps(envelope({"choices": []})).encode()),
    "choices-text": lambda handler, provider, body: send(
        handler, 200, json.dumps(envelope({"choices": "42"})).encode()
    ),
    "empty-object": lambda handler, provider, body: send(handler, 200, b"{}"),
    "filter": lambda handler, provider, body: send(
        handler, 200, json.dumps(envelope(say("", finish="content_filter"))).encode()
    ),
    "broken-call": lambda handler, provider, body: send(
        handler, 200, json.dumps(envelope(say("", [("read_file", '{"path": ')]))).encode()
    ),
    "null": answer_with(None, "stop"),
    "empty": answer_with("", "stop"),
    "blank": answer_with(" \n", "stop"),
    "length-null": answer_with(None, "length"),
    "length-empty": answer_with("", "length"),
    "finish-error": answer_with("it went", "error"),
    "finish-unknown": answer_with("it went", "guardrail_intervened"),
    "filter-partial": answer_with("it went", "content_filter"),
    "length": answer_with("it went well, as far as", "length"),
    "cut": cut,
    "drop": drop,
    "dribble": dribble,
}
