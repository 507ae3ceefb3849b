"""No agent can read the expected answer, unless `show_target` is set."""

from __future__ import annotations

import json
import sys
import textwrap

import anyio
import pytest
from fake_provider import say

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.compiler import compile_skill
from skillsv.errors import AgentFailure
from skillsv.model.coalition import Operator
from skillsv.rendering import Renderer
from skillsv.sandbox.workspace import fresh_workspace
from skillsv.tasks import load_tasks

SECRET = "quokka-71-zephyr"

LOOK = """
import json, os, pathlib, sys

def everything(*more):
    found = [str(path) for path in sorted(pathlib.Path().rglob("*"))]
    found += [path.read_text() for path in sorted(pathlib.Path().rglob("*")) if path.is_file()]
    lines = [pathlib.Path(f"/proc/self/{name}").read_bytes().decode() for name in ("cmdline", "environ")]
    return json.dumps([*more, dict(os.environ), sys.argv, os.getcwd(), found, lines])
"""

PROGRAM = f"{LOOK}\nprint(everything(sys.stdin.read()))\n"

FUNCTION = """
import json, os

def run(skill, task, replicate):
    names = [name for name in dir(task) if not name.startswith("__")]
    attributes = [str(getattr(task, name)) for name in names]
    files = sorted(path.read_text() for path in task.folder.rglob("*") if path.is_file())
    skills = [skill.text, str(skill.files), str(skill.folder), *sorted(map(str, skill.folder.rglob("*")))]
    return json.dumps([*names, *attributes, str(dict(task)), repr(task), *files, *skills, dict(os.environ)])
"""


@pytest.fixture
def skill(tmp_path):
    """The full rendering of a skill with its tasks and answers in `evals/`."""
    folder = tmp_path / "parcels"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: parcels\ndescription: Parcels.\n---\n\n- See [more](more.md).\n")
    (folder / "more.md").write_text("- Parcel 17 is where it is.\n")
    (folder / "evals" / "answers.md").write_text(SECRET)
    compiled = compile_skill(folder)
    return Renderer(compiled).render(frozenset(compiled.unit), Operator.DELETE)


def jsonl(folder):
    line = {
        "id": "t1",
        "input": "Where is parcel 17?",
        "target": SECRET,
        "files": ["note.txt"],
        "verifier": f"command:grep {SECRET}",
        "metadata": {"hint": "visible-hint"},
        "answer": SECRET,
        "solution": {"steps": [SECRET]},
    }
    (folder / "tasks.jsonl").write_text(json.dumps(line))
    return folder / "tasks.jsonl"


def evals(folder):
    entry = {
        "id": "t1",
        "prompt": "Where is parcel 17?",
        "expected_output": SECRET,
        "expectations": [f"Says {SECRET}"],
        "files": ["note.txt"],
        "metadata": {"hint": "visible-hint"},
        "answer": SECRET,
        "rubric": [SECRET],
    }
    (folder / "evals.json").write_text(json.dumps({"evals": [entry]}))
    return folder / "evals.json"


def harbor(folder):
    for path, text in {
        "instruction.md": "Where is parcel 17?",
        "task.toml": f'[metadata]\nhint = "visible-hint"\n[solution]\nanswer = "{SECRET}"\n',
        "environment/note.txt": "a note",
        "tests/test.sh": f"grep {SECRET} answer.txt",
        "tests/expected.txt": SECRET,
        "solution/solve.sh": f"echo {SECRET}",
    }.items():
        place = folder / "parcel-task" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder / "parcel-task"


@pytest.fixture(params=[jsonl, evals, harbor])
def task(request, tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "note.txt").write_text("a note")
    (task,) = load_tasks(request.param(folder))
    return task


def answer(agent, skill, task):
    async def main():
        async with fresh_workspace(task) as workspace:
            return await agent.run(skill, task, 0, workspace)

    return anyio.run(main).answer


def user_agent(kind, folder, **options):
    (folder / "agent.py").write_text(textwrap.dedent(PROGRAM if kind == "command" else FUNCTION))
    spec = f"command:{sys.executable} -I agent.py" if kind == "command" else "python:agent.py:run"
    return make_agent(spec, AgentOptions(folder=folder, **options))


@pytest.mark.parametrize("kind", ["command", "python"])
def test_programs_and_functions_cannot_find_the_answer(kind, tmp_path, skill, task):
    seen = answer(user_agent(kind, tmp_path), skill, task)
    for visible in ("Where is parcel 17?", "note.txt", "a note", "visible-hint", "SKILL.md", "Parcel 17 is where"):
        assert visible in seen
    assert SECRET not in seen
    assert "answers.md" not in seen
    assert str(tmp_path / "tasks") not in seen


@pytest.mark.parametrize("deliver", ["prompt", "files"])
@pytest.mark.parametrize("tools", ["files", "all"])
def test_prompts_and_tool_results_do_not_hold_the_answer(provider, skill, task, deliver, tools):
    calls = [
        ("list_files", {}),
        ("read_file", {"path": "note.txt"}),
        ("search_files", {"text": SECRET[:8]}),
        ("run_shell", {"command": "env; cat /proc/self/cmdline; find . -type f -exec cat {} +"}),
    ]

    def reply(request):
        done = sum(message["role"] == "tool" for message in request["messages"])
        if done == (len(calls) if tools == "all" else len(calls) - 1):
            return say("done")
        name, arguments = calls[done]
        return say(None, [(name, json.dumps(arguments))])

    provider.reply = reply
    chat = ChatOptions(base_url=provider.url, deliver=deliver, tools=tools, sandbox=False)
    assert answer(make_agent("model:openai:tiny", AgentOptions(chat=chat)), skill, task) == "done"
    sent = [{**message, "tool_calls": None} for message in provider.requests[-1]["messages"]]
    seen = json.dumps([sent, provider.requests[-1].get("tools")])
    assert "Where is parcel 17?" in seen
    assert "a note" in seen
    assert SECRET not in seen


@pytest.mark.parametrize("kind", ["command", "python"])
def test_show_target_shows_the_answer(kind, tmp_path, skill, task):
    seen = answer(user_agent(kind, tmp_path, show_target=True), skill, task)
    assert task.verifier in seen
    assert (SECRET in seen) == (task.target is not None)


def test_the_error_for_a_hidden_target_names_the_flag(tmp_path, skill, task):
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate): return task.target\n")
    agent = make_agent("python:agent.py:run", AgentOptions(folder=tmp_path))
    with pytest.raises(AgentFailure, match=r"target is not shown to the agent without --show-target"):
        answer(agent, skill, task)


def test_a_rendered_skill_holds_no_evals(skill):
    assert sorted(skill.contents) == ["SKILL.md", "more.md"]
