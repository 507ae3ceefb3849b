"""A scripted model on 127.0.0.1 for real coding agents. It speaks four protocols and follows one rule.

Where the conversation holds the fact that the question asks for, it answers with it. Else, where the prompt names the
skill and nothing was opened yet, it opens the skill by the tool call that the program offers. Else it answers `unknown`.
So the answer depends on what the program really shows to the model.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SKILL_NAME = "harbor-codes"
"""The name of the skill that the model looks for in its prompt."""

QUESTION = re.compile(r"code of the (\w+)")
FACT = re.compile(r"Code (\w+) is (\d+)")
SKILL_FILE = re.compile(rf"[\w./-]*{SKILL_NAME}/SKILL\.md")
SKILL_ROOT = re.compile(r"`(r\d+)` = `([^`]+)`")
"""codex shortens paths: `r0` stands for a folder."""

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""mini-swe-agent ends when a command prints this, and its answer is what follows."""


USAGE = (900, 30)
"""Input and output tokens that each reply reports."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What all protocols have: all text so far, the number of tool results, the names of the tools."""

    text: str
    results: int
    tools: frozenset[str]


def reply(conversation: Conversation) -> ToolCall | str:
    """The one rule of the scripted model."""
    asked = QUESTION.findall(conversation.text)
    facts = dict(FACT.findall(conversation.text))
    if asked and asked[-1] in facts:
        return _answer(f"The code is {facts[asked[-1]]}.", conversation)
    if SKILL_NAME in conversation.text and not conversation.results:
        call = _open_skill(conversation)
        if call is not None:
            return call
    return _answer("unknown", conversation)


def _answer(text: str, conversation: Conversation) -> ToolCall | str:
    if SUBMIT not in conversation.text:
        return text
    return ToolCall(name="bash", arguments={"command": f"echo {SUBMIT} && echo '{text}'"})


def _open_skill(conversation: Conversation) -> ToolCall | None:
    """The call that opens the skill with the tools of the program that asks; None where it has no such tool."""
    files = SKILL_FILE.findall(conversation.text)
    path = files[0] if files else f".agents/skills/{SKILL_NAME}/SKILL.md"
    for short, folder in SKILL_ROOT.findall(conversation.text):
        path = re.sub(rf"^{short}(?=/)", folder, path)
    calls: dict[str, dict[str, Any]] = {
        "Skill": {"skill": SKILL_NAME},
        "activate_skill": {"name": SKILL_NAME},
        "skill": {"name": SKILL_NAME},
        "exec_command": {"cmd": f"cat {path}"},
        "read": {"path": path},
    }
    return next((ToolCall(name=name, arguments=calls[name]) for name in calls if name in conversation.tools), None)


def _texts(value: Any) -> Iterator[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _conversation(said: Any, results: int, tools: list[str | None]) -> Conversation:
    return Conversation(text="\n".join(_texts(said)), results=results, tools=frozenset(name for name in tools if name))


# One reader and one writer for each protocol. A writer returns server-sent events, or one JSON object.


def read_anthropic(body: dict[str, Any]) -> Conversation:
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    results = sum(block.get("type") == "tool_result" for block in blocks)
    return _conversation(
        [body.get("system"), body["messages"]], results, [tool.get("name") for tool in body.get("tools", [])]
    )


def write_anthropic(said: ToolCall | str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    usage = {"input_tokens": USAGE[0], "output_tokens": USAGE[1]}
    if isinstance(said, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": said}
        stop = "end_turn"
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": said.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}
        stop = "tool_use"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    if not body.get("stream"):
        whole = {**block, "text": said} if isinstance(said, str) else {**block, "input": said.arguments}
        return [("", {**message, "content": [whole], "stop_reason": stop})]
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return [(str(event["type"]), event) for event in events]


def read_responses(body: dict[str, Any]) -> Conversation:
    results = sum(item.get("type") == "function_call_output" for item in body["input"])
    return _conversation(
        [body.get("instructions"), body["input"]], results, [tool.get("name") for tool in body.get("tools", [])]
    )


def write_responses(said: ToolCall | str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(said, str):
        content = [{"type": "output_text", "text": said, "annotations": []}]
        item: dict[str, Any] = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed"}
        item["content"] = content
    else:
        item = {"type": "function_call", "id": "item_1", "call_id": "call_1", "name": said.name}
        item["arguments"] = json.dumps(said.arguments)
    usage = {"input_tokens": USAGE[0], "output_tokens": USAGE[1], "total_tokens": sum(USAGE)}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": body["model"]}
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "output": [item], "usage": usage}},
    ]
    return [(str(event["type"]), event) for event in events]


def read_chat(body: dict[str, Any]) -> Conversation:
    results = sum(message["role"] == "tool" for message in body["messages"])
    return _conversation(
        body["messages"], results, [tool.get("function", {}).get("name") for tool in body.get("tools", [])]
    )


def write_chat(said: ToolCall | str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    message: dict[str, Any] = {"role": "assistant"}
    if isinstance(said, str):
        message["content"], reason = said, "stop"
    else:
        function = {"name": said.name, "arguments": json.dumps(said.arguments)}
        message |= {
            "content": None,
            "tool_calls": [{"index": 0, "id": "call_1", "type": "function"} | {"function": function}],
        }
        reason = "tool_calls"
    usage = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[1], "total_tokens": sum(USAGE)}
    common = {"id": "chat_1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return [("", {**common, "object": "chat.completion", "choices": [choice], "usage": usage})]
    chunk = {**common, "object": "chat.completion.chunk"}
    return [
        ("", {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}),
        ("", "[DONE]"),
    ]


def read_gemini(body: dict[str, Any]) -> Conversation:
    parts = [part for content in body["contents"] for part in content["parts"]]
    declared = [tool for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
    return _conversation(
        [body.get("systemInstruction"), body["contents"]],
        sum("functionResponse" in part for part in parts),
        [tool.get("name") for tool in declared],
    )


def write_gemini(said: ToolCall | str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    part: dict[str, Any] = (
        {"text": said} if isinstance(said, str) else {"functionCall": {"name": said.name, "args": said.arguments}}
    )
    usage = {"promptTokenCount": USAGE[0], "candidatesTokenCount": USAGE[1], "totalTokenCount": sum(USAGE)}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [("", {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})]


@dataclass
class ScriptedServer:
    """The running server. `requests` are the paths it was asked for; `status` is the error that it answers with."""

    port: int
    status: int = 200
    requests: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        self.server.state.requests.append(self.path)
        self._send(404, b"{}", "application/json")

    def do_POST(self) -> None:
        state = self.server.state
        state.requests.append(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if state.status != 200:
            kind = {"type": "error", "error": {"type": "authentication_error", "code": state.status}}
            kind["error"] |= {"message": "the scripted server refuses", "status": "UNAUTHENTICATED"}
            self._send(state.status, json.dumps(kind).encode(), "application/json")
            return
        body = json.loads(raw or b"{}")
        state.bodies.append(body)
        events = self._events(body)
        if events is None:
            self._send(404, b"{}", "application/json")
        elif len(events) == 1 and not events[0][0] and "alt=sse" not in self.path:
            self._send(200, json.dumps(events[0][1]).encode(), "application/json")
        else:
            lines = [
                (f"event: {name}\n" if name else "")
                + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                for name, data in events
            ]
            self._send(200, "".join(lines).encode(), "text/event-stream")

    def _events(self, body: dict[str, Any]) -> list[tuple[str, Any]] | None:
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return [("", {"input_tokens": USAGE[0]})]
        if path.endswith("/messages"):
            return write_anthropic(reply(read_anthropic(body)), body)
        if path.endswith("/responses"):
            return write_responses(reply(read_responses(body)), body)
        if path.endswith("/chat/completions"):
            return write_chat(reply(read_chat(body)), body)
        if path.endswith(("enerateContent",)):
            return write_gemini(reply(read_gemini(body)), body)
        return None

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    state: ScriptedServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Programs that are ended leave connections open."""


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """Serve on a free port of 127.0.0.1."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.state = ScriptedServer(port=server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)  # ends at once when asked
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        server.server_close()
