"""The runner of coding programs: folders, homes, keys, failures. A small script stands for the program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent, not_checked, price_known
from skillsv.agents.coding import PROGRAMS, find_requirements
from skillsv.cli.app import run as run_command
from skillsv.errors import AgentFailure, SettingsError, Unavailable
from skillsv.model.rollout import Usage
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import find_sandbox_problem

TASK = Task(id="q", input="What is the code?", target="41")
SKILL = "---\nname: faq\ndescription: Codes.\n---\n\n- Code crane is 41.\n"

LOOK = r"""#!{python}
import json, os, pathlib, sys
found = {{
    "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:], "stdin": sys.stdin.read(),
    "files": sorted(str(p) for p in pathlib.Path(".").rglob("*") if p.is_file()),
    "parent": os.listdir(".."), "settings": {{p.name: p.read_text() for p in pathlib.Path(os.environ["HOME"]).rglob("*.json")}},
}}
print(json.dumps({{"type": "item.completed", "item": {{"type": "agent_message", "text": json.dumps(found)}}}}))
print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 7, "output_tokens": 3}}}}))
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a script on PATH under the name of a program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(name: str, text: str) -> Path:
        (folder / name).write_text(text.format(python=sys.executable) if text is LOOK else text)
        (folder / name).chmod(0o755)
        return folder / name

    return write


def options(**changes) -> AgentOptions:
    return AgentOptions(chat=ChatOptions(sandbox=False, base_url=changes.pop("base_url", None)), **changes)


def rollout(agent, skill, parent: Path):
    async def main():
        async with fresh_workspace(TASK, parent=parent) as folder:
            return await agent.run(skill, TASK, 0, folder)

    return anyio.run(main)


@pytest.mark.heavy
def test_the_program_gets_prompt_skill_home_and_repository_of_its_own(install, rendering, tmp_path):
    install("codex", LOOK)
    agent = make_agent("codex:m1", options(base_url="http://127.0.0.1:9/v1"))
    outcome = rollout(agent, rendering(SKILL), tmp_path)
    seen = json.loads(outcome.answer)
    assert seen["stdin"] == "What is the code?"
    assert Path(seen["env"]["HOME"]).parent == Path(seen["cwd"])
    assert seen["env"]["OPENAI_API_KEY"] == "[OPENAI_API_KEY]" or "sk-very" in seen["env"]["OPENAI_API_KEY"]
    assert ".agents/skills/faq/SKILL.md" in seen["files"]
    assert ".git/HEAD" in seen["files"]
    assert "SKILLSV_SKILL" not in seen["env"]
    assert (outcome.usage, outcome.opened) == (Usage(input_tokens=7, output_tokens=3), False)


@pytest.mark.heavy
def test_the_bare_agent_finds_no_skill_and_its_opening_is_unknown(install, tmp_path):
    install("codex", LOOK)
    outcome = rollout(make_agent("codex:m1", options()), None, tmp_path)
    assert not [name for name in json.loads(outcome.answer)["files"] if "skills" in name]
    assert outcome.opened is None


def test_git_accepts_the_repository(install, tmp_path):
    events = '{"type":"turn.completed","usage":{}}'
    install(
        "codex", f"#!/bin/sh\ngit rev-parse --show-toplevel >&2 || exit 3\ngit status >&2 || exit 4\necho '{events}'\n"
    )
    assert rollout(make_agent("codex:m1", options()), None, tmp_path).answer == ""


def test_a_program_without_skills_gets_the_text_in_its_prompt(install, rendering, tmp_path):
    script = f"""#!{sys.executable}
import json, sys
given = next(word for word in sys.argv if word.endswith("task.yaml"))
prompt = json.load(open(given))["run"]["task"]
result = {{"info": {{"exit_status": "Submitted", "submission": prompt}}, "messages": []}}
json.dump(result, open(sys.argv[sys.argv.index("-o") + 1], "w"))
"""
    install("mini", script)
    outcome = rollout(make_agent("mini-swe-agent:openai/m1", options()), rendering(SKILL), tmp_path)
    assert "- Code crane is 41." in outcome.answer
    assert outcome.answer.endswith("What is the code?")
    assert outcome.opened is True


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("status 401 Unauthorized", Unavailable),
        ("unexpected status 404 Not Found: no such model", Unavailable),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate-limit"),
        ("unexpected status 503 Service Unavailable", "overload"),
        ("error sending request for url (http://127.0.0.1:9)", "connection"),
        ("Your input is too long: reduce the length", "context-overflow"),
        ("something else", "crash"),
    ],
)
def test_an_error_of_the_provider_is_a_failure_of_its_kind(install, tmp_path, message, expected):
    event = json.dumps({"type": "turn.failed", "error": {"message": message}})
    install("codex", f"#!/bin/sh\necho '{event}'\nexit 1\n")
    with pytest.raises((AgentFailure, Unavailable)) as caught:
        rollout(make_agent("codex:m1", options()), None, tmp_path)
    assert type(caught.value) is expected or caught.value.kind == expected


def test_pi_that_fails_with_exit_code_zero_is_a_failure(install, tmp_path):
    message = {
        "role": "assistant",
        "content": [],
        "usage": {"input": 5},
        "stopReason": "error",
        "errorMessage": "500 no",
    }
    install("pi", f"#!/bin/sh\necho '{json.dumps({'type': 'message_end', 'message': message})}'\n")
    with pytest.raises(AgentFailure) as caught:
        rollout(make_agent("pi:openai/m1", options()), None, tmp_path)
    assert (caught.value.kind, caught.value.usage.input_tokens) == ("overload", 5)


@pytest.mark.parametrize("script", ["#!/bin/sh\necho hello\n", "#!/bin/sh\necho no luck >&2\nexit 3\n"])
def test_a_program_without_a_result_is_a_failure(install, tmp_path, script):
    install("codex", script)
    with pytest.raises(AgentFailure, match="without a result"):
        rollout(make_agent("codex:m1", options()), None, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "text", ["# No frontmatter\n", "---\nname: faq\n---\n\n- one\n", "---\ndescription: x\n---\n\n- one\n"]
)
def test_a_skill_that_the_program_would_drop_ends_the_run(install, rendering, tmp_path, text):
    install("codex", LOOK)
    with pytest.raises(SettingsError, match="codex does not see this skill"):
        rollout(make_agent("codex:m1", options()), rendering(text), tmp_path)


def test_what_cannot_be_used_is_refused_before_the_first_rollout(install, monkeypatch, tmp_path):
    install("codex", LOOK)
    install("pi", LOOK)
    with pytest.raises(SettingsError, match=r"names no provider.*pi:anthropic/"):
        make_agent("pi:m1", options())
    with pytest.raises(SettingsError, match="--skill-dir does not apply"):
        make_agent("codex:m1", options(skill_dir=".claude/skills"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="npm install -g @openai/codex"):
        make_agent("codex:m1", options())


def test_a_server_address_with_a_password_is_refused(install):
    install("codex", LOOK)
    with pytest.raises(SettingsError, match="holds more than an address"):
        make_agent("codex:m1", options(base_url="https://me:secret@example.org/v1"))


def test_a_sandboxed_program_cannot_have_the_home_of_the_user(install):
    install("codex", LOOK)
    with pytest.raises(SettingsError, match="HOME cannot be forwarded"):
        make_agent("codex:m1", AgentOptions(forward_env=("HOME",)))


def test_the_fingerprint_covers_program_model_and_server_but_no_key(install, monkeypatch):
    def fingerprint(spec="codex:m1", **changes):
        return make_agent(spec, options(**changes)).fingerprint

    install("codex", "#!/bin/sh\necho codex 0.170.0\n")
    first = fingerprint()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key")
    assert fingerprint(timeout=9.0) == first
    prints = {
        first,
        fingerprint("codex:m2"),
        fingerprint(base_url="http://127.0.0.1:9/v1"),
        fingerprint(agent_version="1"),
    }
    install("codex", "#!/bin/sh\necho codex 0.171.0\n")
    prints.add(fingerprint())
    assert len(prints) == 5
    assert "weights" in not_checked("codex:m1")


def test_only_claude_code_at_its_own_server_has_a_known_price():
    assert price_known("claude-code:m", AgentOptions())
    assert not price_known("claude-code:m", options(base_url="http://127.0.0.1:9"))
    assert not price_known("codex:m", AgentOptions())


def test_requirements_name_what_is_missing(install, monkeypatch, tmp_path):
    def found(name):
        return {item.what: item for item in find_requirements(PROGRAMS[name], "local/m", AgentOptions())}

    monkeypatch.delenv("OPENAI_API_KEY")
    install("opencode", "#!/bin/sh\necho 1.2.3\n")
    needs = found("opencode")
    assert (needs["program"].met, needs["version"].met, needs["key"].met) == (True, False, False)
    assert "older than 1.18" in needs["version"].found
    monkeypatch.setenv("PATH", str(tmp_path))
    needs = found("opencode")
    assert (needs["program"].met, needs["rg"].met) == (False, False)
    assert "npm install -g opencode-ai" in needs["program"].hint


def test_doctor_says_what_is_missing_and_does_not_call(capsys, monkeypatch, tmp_path, install):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    install("claude", "#!/bin/sh\necho 2.1.5\n")
    assert run_command(["doctor", "--agent", "claude-code:m1", "--no-sandbox"]) == 5
    printed = capsys.readouterr().out
    assert "ok  version        2.1.5" in printed
    assert "NO  key            none of ANTHROPIC_API_KEY" in printed
    assert "not tried" in printed


@pytest.mark.skipif(find_sandbox_problem() is not None, reason="no sandbox on this machine")
def test_in_the_sandbox_the_program_sees_no_other_file_of_the_user(rendering, tmp_path, monkeypatch):
    """The script is below a folder that looks like an npm installation; its neighbour is a skill of the user."""
    home = tmp_path / "home"
    package = home / "node_modules" / "codex"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.170.1"}')
    events = '{"type":"item.completed","item":{"type":"agent_message","text":"%s"}}\\n{"type":"turn.completed","usage":{}}\\n'
    (package / "codex").write_text(f"#!/bin/sh\nls {home} {home}/secret >/task/seen 2>&1\nprintf '{events}' \"$(pwd) $HOME $(ls /task/.agents/skills) $(tr '\\n' ' ' < /task/seen)\"\n")  # fmt: skip
    (package / "codex").chmod(0o755)
    (home / "secret").write_text("mine")
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{package}:{os.environ['PATH']}")
    agent = make_agent("codex:m1", AgentOptions(chat=ChatOptions()))
    seen = rollout(agent, rendering(SKILL), tmp_path).answer
    assert seen.startswith("/task /task/.home faq ")
    assert "cannot access" in seen
    assert f"{home}: node_modules" in seen
