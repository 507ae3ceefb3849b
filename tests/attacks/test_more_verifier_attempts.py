"""Twenty more attempts on the verifier by what an agent leaves in its workspace.

`check.py` gives 1 if out.txt holds the expected word, which the agent does not know. An attempt succeeds if the agent's
code runs with the rights of the user (it writes a marker), or if the score is 1.
"""

import os
import socket
import sys
from pathlib import Path

import anyio
import pytest

from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import Outcome, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout.engine import Job, LocalEngine
from skillsv.tasks import make_verifier

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
CHECK = """
import json, os, sys
try:
    text = open("out.txt", encoding="utf-8", errors="replace").read(1000)
except OSError:
    text = ""
print(1.0 if text == open(os.path.join(os.path.dirname(__file__), "expected.txt")).read() else 0.0)
"""

CODE = {
    "module beside the answer": "json.py",
    "sitecustomize": "sitecustomize.py",
    "usercustomize": "usercustomize.py",
    "user site of the home": f".home/.local/lib/{PYTHON}/site-packages/usercustomize.py",
    "startup file": ".home/.pythonstartup",
    "pth file": f".home/.local/lib/{PYTHON}/site-packages/x.pth",
    "encodings package": "encodings/__init__.py",
    "check.py in the workspace": "check.py",
    "main file": "__main__.py",
    "temporary folder": ".tmp/os.py",
    "package folder of the skill": ".skillsv/skills/json.py",
    "python in the workspace": "python3",
}


def links(workspace, place, marker):
    expected = place / "expected.txt"
    return {
        "absolute link": lambda: (workspace / "out.txt").symlink_to(expected),
        "relative link": lambda: (workspace / "out.txt").symlink_to(os.path.relpath(expected, workspace)),
        "chain of links": lambda: (
            (workspace / "a").symlink_to(place),
            (workspace / "out.txt").symlink_to("a/expected.txt"),
        ),
        "link by /proc": lambda: (workspace / "out.txt").symlink_to(f"/proc/self/root{expected}"),
        "link to standard input": lambda: (workspace / "out.txt").symlink_to("/dev/stdin"),
        "links in a circle": lambda: ((workspace / "out.txt").symlink_to("b"), (workspace / "b").symlink_to("out.txt")),
        "pipe": lambda: os.mkfifo(workspace / "out.txt"),
        "socket": lambda: bind(workspace),
    }


def bind(workspace):
    here = Path.cwd()
    os.chdir(workspace)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("out.txt")
    finally:
        os.chdir(here)


class WritingAgent:
    fingerprint = "writing/1"

    def __init__(self, write):
        self.write = write

    async def run(self, _skill, _task, _replicate, workspace):
        self.write(workspace)
        return Outcome(answer="done")


def score(place, write):
    (place / "check.py").write_text(CHECK)
    (place / "expected.txt").write_text("a word that the agent does not know")
    task = Task(id="t", input="?", verifier="command:python3 check.py")
    agent, verifier = WritingAgent(write), make_verifier([task], folder=place)
    key = RolloutKey(tree="0", task=task.id, agent=agent.fingerprint)
    bare = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="", files=(), digest="0")
    rollout = anyio.run(LocalEngine(agent, verifier).run, Job(key=key, skill=bare, task=task, timeout=20.0))
    assert rollout.failure is None, rollout.failure
    return rollout.score


@pytest.mark.parametrize("path", CODE.values(), ids=CODE)
def test_code_in_the_workspace_is_not_run_by_the_verifier(tmp_path, path):
    marker = tmp_path / "ran"

    def write(workspace):
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        code = f"import os; open({str(marker)!r}, 'w').close(); print(1.0); os._exit(0)\n"
        file.write_text(f"#!{sys.executable}\n{code}" if path == "python3" else code)
        file.chmod(0o755)

    assert score(tmp_path, write) == 0.0
    assert not marker.exists()


@pytest.mark.parametrize("name", links(Path(), Path(), Path()))
def test_an_answer_that_is_no_file_does_not_become_the_expected_one(tmp_path, name):
    assert score(tmp_path, lambda workspace: links(workspace, tmp_path, tmp_path / "ran")[name]()) == 0.0
