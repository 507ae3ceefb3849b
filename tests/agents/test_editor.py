"""Editors: agents, commands and functions that rewrite the files of a skill."""

import contextlib

import anyio
import pytest

from skillsv.agents import AgentOptions
from skillsv.agents.editor import AgentEditor, make_editor
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import Ending, Outcome, Usage
from skillsv.model.usage_meter import meter_usage

FILES = {"SKILL.md": b"# Old\n", "notes.md": b"notes\n", "logo.png": b"\x89PNG\xff\x00"}


class Answers:
    fingerprint = "answers/1"

    def __init__(self, answer, ending=Ending.ANSWERED):
        self.answer = answer
        self.ending = ending
        self.asked = ""

    async def run(self, skill, task, replicate, workspace):
        assert skill is None
        self.asked = task.input
        return Outcome(answer=self.answer, ending=self.ending, usage=Usage(input_tokens=5, usd=0.5))


def edit(editor):
    return anyio.run(editor.edit, dict(FILES), "Be brief.")


def test_an_agents_answer_replaces_and_removes_files():
    agent = Answers('Here:\n<file path="SKILL.md">\n# New\n</file>\n<remove path="notes.md"/>')
    assert edit(AgentEditor(agent)) == {"SKILL.md": b"# New\n", "logo.png": FILES["logo.png"]}
    assert "Be brief." in agent.asked
    assert "# Old" in agent.asked
    assert "PNG" not in agent.asked


def test_an_answer_without_a_file_is_a_failure():
    with pytest.raises(AgentFailure) as caught:
        edit(AgentEditor(Answers("I would rather not.")))
    assert caught.value.kind == "bad-output"


def test_a_cut_answer_is_a_failure():
    with pytest.raises(AgentFailure) as caught:
        edit(AgentEditor(Answers('<file path="SKILL.md">\n# New\n</file>\n<file path="no', Ending.CUT)))
    assert caught.value.kind == "cut-answer"


def test_a_command_returns_no_links_and_sees_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hush-hush-hush")
    script = tmp_path / "edit.sh"
    script.write_text(
        '#!/bin/sh\ncd "$SKILLSV_SKILL"\nln -s /etc/hostname linked.md\nrm notes.md\necho "${SECRET_KEY:-none}" > key.txt\n'
    )
    script.chmod(0o755)
    found = edit(make_editor(f"command:{script}", AgentOptions()))
    assert sorted(found) == ["SKILL.md", "key.txt", "logo.png"]
    assert found["key.txt"] == b"none\n"


def test_a_command_over_the_time_limit_is_a_failure(tmp_path):
    with pytest.raises(AgentFailure, match="did not end"):
        edit(make_editor("command:sleep 60", AgentOptions(timeout=0.2)))


@pytest.mark.parametrize("spec", ["", "command:", "python", "planted:rules", "rules"])
def test_an_unknown_editor_is_refused(spec):
    with pytest.raises(SettingsError):
        make_editor(spec, AgentOptions())


@pytest.mark.parametrize("answer", ['<file path="SKILL.md">\n# New\n</file>', "I would rather not."])
def test_what_an_editor_uses_is_counted_whatever_it_answers(answer):
    async def metered():
        with meter_usage() as meter:
            with contextlib.suppress(AgentFailure):
                await AgentEditor(Answers(answer)).edit(dict(FILES), "Be brief.")
            return meter

    meter = anyio.run(metered)
    assert (meter.calls, meter.usage) == (1, Usage(input_tokens=5, usd=0.5))
