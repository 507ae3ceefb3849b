"""Every model of a run uses the server that the run recorded, and no other."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from skillsv.cli import run

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agents"))

from fake_provider import FakeProvider, say

SKILL = "---\nname: tiny\ndescription: Words.\n---\n\n# Words\n\n- Say `alpha`.\n- Say `beta`.\n"
SHORTER = f'<file path="SKILL.md">\n{SKILL.replace("- Say `beta`." + chr(10), "")}</file>'
AGENT = "def answer(skill, task, replicate):\n    return skill.text if skill else ''\n"
MODEL = "model:openai:tiny"
PROGRAM = "python:{place}/agent.py:answer"


def reply(request):
    """The answer by the kind of question: a skill for the editor, a verdict for a task, a number for a unit."""
    asked = json.dumps(request["messages"])
    return say(SHORTER if "# The skill" in asked else "1: yes\n70" if "expectation" in asked else "70 alpha")


@pytest.fixture(scope="module")
def servers():
    """The server that the run records, and the one that the environment names."""
    here, elsewhere = FakeProvider(), FakeProvider()
    here.reply = reply
    yield here, elsewhere
    here.close()
    elsewhere.close()


@pytest.fixture(autouse=True)
def environment(servers, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", servers[1].url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")


@pytest.fixture(scope="module")
def place(servers, tmp_path_factory):
    """A run with a base URL, prices and a stop text. Its agent is a function, which uses no server."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "tiny").mkdir()
    (folder / "tiny/SKILL.md").write_text(SKILL)
    (folder / "agent.py").write_text(AGENT)
    (folder / "prices.toml").write_text('["openai:tiny"]\ninput = 1.0\noutput = 1.0\n')
    for verifier in ("contains", "judge"):
        lines = [{"id": f"t{n}", "input": "?", "target": "alpha", "verifier": verifier} for n in range(24)]
        (folder / f"{verifier}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    chat = ["--base-url", servers[0].url, "--tools", "none", "--temperature", "0.5", "--stop", "END"]
    words = ["value", "tiny", "--tasks", "contains.jsonl", "--agent", "python:agent.py:answer", "--run-dir", "run"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*words, *chat, "--prices", "prices.toml", "--operators", "delete", "--yes", "--quiet"]) == 0
    return folder


NEW = ["{place}/tiny", "--base-url", "{url}", "--tools", "none", "--run-dir", "new", "--tasks"]
SPEND = ["--operators", "delete", "--yes", "--quiet", "--keep-going"]
LATER = ["--yes", "--quiet", "--json"]
EDIT = ["refine", "run", "--no-confirm", "-o", "edited", *LATER]
COMMANDS = {
    "agent": ["value", *NEW, "{place}/contains.jsonl", "--agent", MODEL, *SPEND],
    "agent of a recorded run": ["confirm", "run", "--agent", MODEL, "--curves", "none", *LATER],
    "judge of tasks": ["value", *NEW, "{place}/judge.jsonl", "--agent", PROGRAM, "--judge", MODEL, *SPEND],
    "judge of units": ["confirm", "run", "--curves", "judge", "--judge", MODEL, *LATER],
    "editor": [*EDIT, "--editor", MODEL],
    "probe": ["plan", *NEW, "{place}/contains.jsonl", "--agent", MODEL, "--probe"],
    "doctor": ["doctor", "--agent", MODEL, "--base-url", "{url}"],
}


@pytest.fixture
def command(place, servers, tmp_path, monkeypatch):
    """Run a command in a folder of its own, with a copy of the run. Returns exit code and requests to the server."""
    shutil.copytree(place / "run", tmp_path / "run")
    monkeypatch.chdir(tmp_path)

    def call(words):
        here, elsewhere = servers
        for server in servers:
            server.requests.clear()
            server.paths.clear()
        code = run([word.format(place=place, url=here.url) for word in words])
        assert elsewhere.paths == [], "only the recorded server is used"
        assert set(here.paths) <= {"/v1/chat/completions"}
        return code, list(here.requests)

    return call


@pytest.mark.parametrize("client", COMMANDS)
def test_each_model_uses_only_the_recorded_server(client, command):
    code, requests = command(COMMANDS[client])
    assert code in {0, 3}, "a confirmation may show nothing"
    assert requests


def test_an_editor_has_the_recorded_settings_but_no_stop_text(command, tmp_path):
    _, (request,) = command([*EDIT, "--editor", MODEL])
    assert request["temperature"] == 0.5
    assert "stop" not in request
    assert "beta" not in (tmp_path / "edited/SKILL.md").read_text()


@pytest.mark.parametrize("words", [[*EDIT, "--editor"], ["confirm", "run", "--curves", "judge", *LATER, "--judge"]])
def test_a_model_of_another_provider_is_refused(words, command, monkeypatch, capsys, servers):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", servers[1].url.removesuffix("/v1"))
    assert command([*words, "model:anthropic:claude-x"]) == (2, [])
    assert "cannot be reached by a base URL" in capsys.readouterr().err
