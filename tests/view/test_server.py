"""How the server starts and ends."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest


@pytest.mark.heavy
def test_ctrl_c_with_an_open_page_ends_without_a_traceback(tmp_path):
    program = [sys.executable, "-m", "skillsv", "view", str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        address = urlsplit(server.stdout.readline().rpartition(": ")[2].strip())
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", f"{address.path}events")
        answer = connection.getresponse()
        assert answer.readline().startswith(b"data: ")
        server.send_signal(signal.SIGINT)
        answer.read()  # the server ends the stream
        _, errors = server.communicate(timeout=60)
        connection.close()
    assert server.returncode == 130
    assert "Traceback" not in errors
    assert "exceeded" not in errors
