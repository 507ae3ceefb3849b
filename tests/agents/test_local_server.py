"""The local server without a model: ports, missing files, a server that ends at once."""

from __future__ import annotations

import socket

import pytest

from skillsv.agents import local_server
from skillsv.agents.local_server import LocalServer
from skillsv.errors import SettingsError, Unavailable


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.setattr(local_server, "require_server", lambda: None)
    file = tmp_path / "model.gguf"
    file.write_bytes(b"no weights at all")
    return file


def test_a_port_in_use_is_refused(weights):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} cannot be served on.*Choose another port"):
            LocalServer(weights, port=port).__enter__()
    with pytest.raises(SettingsError, match="port 70000 cannot be served on"):
        LocalServer(weights, port=70000).__enter__()


def test_a_server_that_ends_at_once_is_unavailable(weights, monkeypatch):
    monkeypatch.setattr(local_server.sys, "executable", "/bin/false")
    with pytest.raises(Unavailable, match="ended while it started"):
        LocalServer(weights).__enter__()


def test_missing_weights_are_refused_before_the_start(weights):
    with pytest.raises(SettingsError, match="no such GGUF file"):
        LocalServer(weights.with_name("gone.gguf"))
