"""Attacks on the verifier by what the agent leaves in its workspace, and by the files of a task.

The attacker controls a program that runs in the sandbox of the agent, or the files of a task. The verifier runs after
it, with the rights of the user. The attacker's code writes a marker file, so the tests see if it ran.
"""

import json
import os
import shlex
import site
import sys
from pathlib import Path

import anyio
import pytest

from skillsv.agents.command import CommandAgent
from skillsv.agents.options import AgentOptions
from skillsv.errors import RolloutError, TaskError, VerifierFailure
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.rollout import FailureKind, Outcome, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout.engine import Job, LocalEngine
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, find_sandbox_problem, run_sandboxed
from skillsv.tasks import load_tasks, make_verifier
from skillsv.tasks.verifiers import harbor as harbor_module

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
USER_SITE = f".local/lib/{PYTHON}/site-packages/usercustomize.py"
CHECK = "import sys\nprint(1.0 if open('out.txt').read() == 'right' else 0.0)\n"


@pytest.fixture(autouse=True)
def _user_site(monkeypatch):
    """Tests run in a virtual environment, whose Python ignores the user's site folder: use the Python behind it."""
    monkeypatch.setenv("PATH", f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")


class WritingAgent:
    """An agent that leaves in the workspace what a function writes there."""

    fingerprint = "writing/1"

    def __init__(self, write):
        self.write = write

    async def run(self, _skill, _task, _replicate, workspace):
        self.write(workspace)
        return Outcome(answer="done")


class SandboxedAgent:
    """An agent whose program, written by a model, runs in the sandbox."""

    fingerprint = "sandboxed/1"

    def __init__(self, code):
        self.code = code

    async def run(self, _skill, _task, _replicate, workspace):
        done = await run_sandboxed(["python3", "-c", self.code], workspace=workspace, limits=SANDBOX_LIMITS)
        assert done.code == 0, done.stderr
        return Outcome(answer="done")


def need_sandbox():
    if problem := find_sandbox_problem():
        pytest.skip(problem)


def rollout(agent, task, folder, **options):
    verifier = make_verifier([task], folder=folder, **options)
    key = RolloutKey(tree="0", task=task.id, agent=agent.fingerprint)
    bare = Rendering(coalition=frozenset(), operator=Operator.DELETE, skill_name="", main="", files=(), digest="0")
    return anyio.run(LocalEngine(agent, verifier).run, Job(key=key, skill=bare, task=task))


def command_task(folder):
    (folder / "check.py").write_text(CHECK)
    (folder / "expected.txt").write_text("right")
    return Task(id="t", input="?", verifier="command:python3 check.py")


def write_marker(marker):
    return f"open({str(marker)!r}, 'w').write('ran')\n"


@pytest.mark.parametrize("path", [f".home/{USER_SITE}", f".tmp/{USER_SITE}", USER_SITE])
def test_sandboxed_program_cannot_plant_a_user_site_file_for_the_verifier(tmp_path, path):
    need_sandbox()
    assert site.ENABLE_USER_SITE is not None
    marker = tmp_path / "ran"
    code = (
        "import os\n"
        f"os.makedirs(os.path.dirname({path!r}), exist_ok=True)\n"
        f"open({path!r}, 'w').write({write_marker(marker)!r})\n"
        "open('out.txt', 'w').write('right')\n"
    )
    done = rollout(SandboxedAgent(code), command_task(tmp_path), tmp_path)
    assert not marker.exists()
    assert done.score == 1.0


def test_verifier_has_home_and_tmpdir_outside_the_workspace(tmp_path):
    (tmp_path / "see.py").write_text(
        "import os, json\n"
        f"json.dump([os.getcwd(), os.environ['HOME'], os.environ['TMPDIR']], open({str(tmp_path / 'seen')!r}, 'w'))\n"
        "assert os.listdir(os.environ['HOME']) == os.listdir(os.environ['TMPDIR']) == []\nprint(1)\n"
    )
    task = Task(id="t", input="?", verifier="command:python3 see.py")
    assert rollout(WritingAgent(lambda _: None), task, tmp_path).score == 1.0
    workspace, *private = json.loads((tmp_path / "seen").read_text())
    for folder in map(Path, private):
        assert not folder.is_relative_to(workspace)
        assert not folder.exists()


@pytest.mark.parametrize("kind", ["file", "folder", "chain", "relative"])
def test_link_to_the_expected_answer_is_removed_before_verifying(tmp_path, kind):
    secret = tmp_path / "expected.txt"

    def write(workspace):
        out = workspace / "out.txt"
        if kind == "file":
            out.symlink_to(secret)
        elif kind == "folder":
            (workspace / "deep").symlink_to(tmp_path)
            out.symlink_to("deep/expected.txt")
        elif kind == "chain":
            (workspace / "one").symlink_to(secret)
            out.symlink_to("one")
        else:
            out.symlink_to(os.path.relpath(secret, workspace))

    done = rollout(WritingAgent(write), command_task(tmp_path), tmp_path)
    assert done.score is None
    assert done.failure.kind is FailureKind.VERIFIER
    assert "out.txt" in done.failure.message


def test_python_verifier_cannot_be_led_to_the_expected_answer(tmp_path):
    (tmp_path / "check.py").write_text(
        "def score(workspace):\n    out = workspace / 'out.txt'\n    return float(out.is_file() and out.read_text() == 'right')\n"
    )
    (tmp_path / "expected.txt").write_text("right")
    task = Task(id="t", input="?", verifier="python:check.py:score")
    agent = WritingAgent(lambda workspace: (workspace / "out.txt").symlink_to(tmp_path / "expected.txt"))
    assert rollout(agent, task, tmp_path).score == 0.0


def test_links_inside_the_workspace_are_kept(tmp_path):
    def write(workspace):
        (workspace / "data").mkdir()
        (workspace / "data" / "real.txt").write_text("right")
        (workspace / "out.txt").symlink_to("data/real.txt")

    assert rollout(WritingAgent(write), command_task(tmp_path), tmp_path).score == 1.0


def test_pipe_in_place_of_the_answer_does_not_stop_the_verifier(tmp_path):
    (tmp_path / "check.py").write_text("import os\nprint(float(os.path.lexists('out.txt')))\n")
    task = Task(id="t", input="?", verifier="command:python3 check.py")
    agent = WritingAgent(lambda workspace: os.mkfifo(workspace / "out.txt"))
    assert rollout(agent, task, tmp_path).score == 0.0


@pytest.mark.parametrize("place", [".home", ".tmp", ".skillsv", "./.home", ".HOME"])
def test_file_of_a_task_cannot_land_in_our_own_folders(tmp_path, place):
    (tmp_path / "evil.py").write_text("print('ran')\n")
    line = {"id": "t", "input": "?", "target": "x", "files": {f"{place}/{USER_SITE}": "evil.py"}}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line))
    with pytest.raises(TaskError, match="belongs to SkillSV"):
        load_tasks(tmp_path / "tasks.jsonl")


def test_file_of_a_task_object_cannot_become_the_home_of_the_agent(tmp_path):
    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(write_marker(marker))
    task = Task(id="t", input="?", files={f".home/{USER_SITE}": tmp_path / "evil.py"})
    (tmp_path / "agent.py").write_text("print('hello')\n")
    agent = CommandAgent(f"python3 {shlex.quote(str(tmp_path / 'agent.py'))}", AgentOptions(folder=tmp_path))

    async def run():
        async with fresh_workspace(task) as workspace:
            await agent.run(None, task, 0, workspace)

    with pytest.raises(RolloutError, match="belongs to SkillSV"):
        anyio.run(run)
    assert not marker.exists()


def harbor_task(folder, test, toml=""):
    place = folder / "job"
    (place / "tests").mkdir(parents=True)
    (place / "environment" / "data").mkdir(parents=True)
    (place / "environment" / "data" / "in.txt").write_text("given")
    (place / "instruction.md").write_text("Do it.\n")
    (place / "task.toml").write_text(toml)
    (place / "tests" / "test.sh").write_text(test)
    (task,) = load_tasks(place)
    return task


def harbor_score(folder, test, toml="", **options):
    task = harbor_task(folder, test, toml)
    done = rollout(WritingAgent(lambda _: None), task, folder, **options)
    return done.score if done.failure is None else done.failure.message


def test_harbor_environment_cannot_fill_our_own_folders(tmp_path):
    harbor_task(tmp_path, "")
    place = tmp_path / "job" / "environment" / ".home"
    place.mkdir()
    (place / ".bashrc").write_text("echo ran")
    with pytest.raises(TaskError, match="belongs to SkillSV"):
        load_tasks(tmp_path / "job")


@pytest.mark.parametrize(
    "attack",
    [
        "cat {secret} > /logs/verifier/stolen",
        "echo changed > {secret}",
        "ls {home}",
        "test -e {folder}",
        "touch {folder}/ran",
    ],
)
def test_harbor_test_sees_no_file_of_the_user(tmp_path, attack):
    need_sandbox()
    secret = tmp_path / "secret"
    secret.write_text("mine")
    tmp_path.chmod(0o777)
    line = attack.format(secret=secret, home=Path.home(), folder=tmp_path)
    assert (
        harbor_score(tmp_path, f"{line} && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt")
        == 0.0
    )
    assert secret.read_text() == "mine"


def test_harbor_test_has_no_network_unless_the_task_asks_and_the_user_allows(tmp_path):
    need_sandbox()
    test = "python3 -c \"open('/logs/verifier/reward.txt', 'w').write(str(float(len(open('/proc/net/dev').readlines()) > 3)))\""
    if len(Path("/proc/net/dev").read_text().splitlines()) <= 3:
        pytest.skip("this machine has no network device")
    asks = "[environment]\nallow_internet = true\n"
    seen = [
        harbor_score(tmp_path / f"{number}", test, toml, network=network)
        for number, (toml, network) in enumerate([("", False), (asks, False), ("", True), (asks, True)])
    ]
    assert seen == [0.0, 0.0, 0.0, 1.0]


def test_harbor_test_without_a_sandbox_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(harbor_module, "find_sandbox_problem", lambda **_: "there is none.")
    with pytest.raises(TaskError, match=r"tests/test\.sh cannot be sandboxed: there is none\..*--no-sandbox"):
        harbor_score(tmp_path, "echo 1 > /logs/verifier/reward.txt")


def test_harbor_test_runs_without_a_sandbox_if_the_user_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(harbor_module, "find_sandbox_problem", lambda **_: "there is none.")
    test = "test -f /app/data/in.txt && echo 1 > /logs/verifier/reward.txt"
    assert harbor_score(tmp_path, test, sandbox=False) == 1.0


@pytest.mark.parametrize("sandbox", [True, False])
@pytest.mark.parametrize("reward", ["ln -s {secret} /logs/verifier/reward.txt", "mkfifo /logs/verifier/reward.txt"])
def test_reward_that_is_a_link_or_a_pipe_is_not_read(tmp_path, sandbox, reward):
    if sandbox:
        need_sandbox()
    secret = tmp_path / "secret"
    secret.write_text("my-secret-words")
    message = harbor_score(tmp_path, reward.format(secret=secret), sandbox=sandbox)
    assert "wrote no reward" in message
    assert "my-secret-words" not in message


def test_deep_json_as_reward_is_a_failure(tmp_path):
    test = "python3 -c \"print('[' * 100000)\" > /logs/verifier/reward.json"
    task = harbor_task(tmp_path, test)
    verifier = make_verifier([task], folder=tmp_path, sandbox=False)

    async def score():
        async with fresh_workspace(task) as workspace:
            return await verifier.score(task, Outcome(answer=""), workspace)

    with pytest.raises(VerifierFailure, match="cannot be read"):
        anyio.run(score)
