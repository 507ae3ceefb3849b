"""A model server on 127.0.0.1 for the walkthrough: OpenAI's chat protocol, and the agent of agent.py behind it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from agent import best_line


class ModelServer:
    """Serves while the block lasts. `url` is the base URL for --base-url, `calls` counts requests."""

    def __enter__(self) -> Self:
        server = self
        self.calls = 0

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.calls += 1
                data = json.dumps(reply(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def reply(request: dict) -> dict:
    """The answer to one request: from the skill in the system prompt to the question of the user."""
    texts = {message["role"]: _text(message["content"]) for message in request["messages"]}
    text = best_line(texts.get("system", ""), texts.get("user", ""))
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 400, "completion_tokens": 10, "total_tokens": 410}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "town", "choices": [choice], "usage": usage}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content) if isinstance(content, list) else ""
