"""The command agent: what the program sees, its answer, and its failures."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import psutil
import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import AgentFailure, RolloutError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.fingerprint import first_part
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.sources import command_line, command_sources, digest_files

SKILL = Rendering(
    coalition=frozenset({"a"}),
    operator=Operator.DELETE,
    skill_name="pdf-tools",
    main="SKILL.md",
    files=(
        RenderedFile(path="SKILL.md", data=b"# The magic word\n", digest=""),
        RenderedFile(path="scripts/go.sh", data=b"#!/bin/sh\necho from the skill\n", digest="", executable=True),
    ),
    digest="tree",
)
EMPTY = Rendering(
    coalition=frozenset(), operator=Operator.DELETE, skill_name="pdf-tools", main="SKILL.md", files=(), digest="none"
)


@pytest.fixture
def bench(tmp_path):
    """A folder of the user with a program, and one folder for all workspaces."""
    (tmp_path / "user").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "user" / "data.csv").write_text("1,2\n")
    return Bench(tmp_path)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.user, self.work = folder / "user", folder / "work"
        self.task = Task(
            id="q-1",
            input="How många?",
            target="3",
            stratum="easy",
            files={"in/data.csv": self.user / "data.csv"},
            verifier="exact",
            metadata={"k": [1]},
        )

    def agent(self, code: str, **options):
        (self.user / "agent.py").write_text(textwrap.dedent(code))
        return make_agent(f"command:{sys.executable} -I agent.py", AgentOptions(folder=self.user, **options))

    def run(self, code: str, skill: Rendering | None = SKILL, replicate: int = 0, **options) -> Outcome:
        agent = self.agent(code, **options)

        async def main() -> Outcome:
            async with fresh_workspace(self.task, parent=self.work) as folder:
                return await agent.run(skill, self.task, replicate, folder)

        try:
            return anyio.run(main)
        finally:
            assert list(self.work.iterdir()) == []
            assert [p.pid for p in psutil.process_iter(["cwd"]) if str(self.work) in (p.info["cwd"] or "")] == []

    def fails(self, code: str, **options) -> AgentFailure:
        with pytest.raises(AgentFailure) as caught:
            self.run(code, **options)
        return caught.value


def test_stdout_is_the_answer_and_stderr_the_transcript(bench):
    outcome = bench.run("import sys; print('3'); print('thinking', file=sys.stderr)")
    assert (outcome.answer, outcome.transcript) == ("3\n", "thinking\n")


def test_the_task_is_on_stdin_as_json(bench):
    assert json.loads(bench.run("import sys; print(sys.stdin.read())").answer) == {
        "id": "q-1",
        "input": "How många?",
        "files": ["in/data.csv"],
        "metadata": {"k": [1]},
    }


def test_show_target_puts_all_fields_on_stdin(bench):
    bench.task = replace(bench.task, undeclared={"answer": 3, "k": 2})
    assert json.loads(bench.run("import sys; print(sys.stdin.read())", show_target=True).answer) == {
        "id": "q-1",
        "input": "How många?",
        "target": "3",
        "stratum": "easy",
        "files": ["in/data.csv"],
        "verifier": "exact",
        "metadata": {"k": [1], "answer": 3},
    }


LOOK = """
import json, os, pathlib
skill = os.environ.get("SKILLSV_SKILL")
print(json.dumps({
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "files": sorted(str(p.relative_to(".")) for p in pathlib.Path(".").rglob("*") if p.is_file()),
    "skill": skill and sorted(str(p.relative_to(skill)) for p in pathlib.Path(skill).rglob("*") if p.is_file()),
    "text": skill and pathlib.Path(skill, "SKILL.md").read_text(),
    "runs": skill and os.access(pathlib.Path(skill, "scripts/go.sh"), os.X_OK),
}))
"""


def test_the_program_runs_in_a_fresh_folder_with_the_skill(bench):
    seen = json.loads(bench.run(LOOK, replicate=4).answer)
    assert seen["env"]["SKILLSV_TASK_ID"] == "q-1"
    assert seen["env"]["SKILLSV_REPLICATE"] == "4"
    assert Path(seen["env"]["SKILLSV_SKILL"]).name == "pdf-tools"
    assert seen["skill"] == ["SKILL.md", "scripts/go.sh"]
    assert (seen["text"], seen["runs"]) == ("# The magic word\n", True)
    assert "in/data.csv" in seen["files"]
    assert Path(seen["cwd"]).parent == bench.work.resolve()


@pytest.mark.parametrize("place", [".claude/skills", ".agents/skills"])
def test_skill_dir_decides_where_the_skill_is(bench, place):
    seen = json.loads(bench.run(LOOK, skill_dir=place).answer)
    assert f"{place}/pdf-tools/SKILL.md" in seen["files"]
    assert seen["env"]["SKILLSV_SKILL"].endswith(f"{place}/pdf-tools")


@pytest.mark.parametrize("skill", [None, EMPTY])
@pytest.mark.parametrize("place", [None, ".claude/skills"])
def test_the_bare_agent_sees_nothing_of_the_skill(bench, monkeypatch, skill, place):
    monkeypatch.setenv("SKILLSV_SKILL", "left over from outside")
    bench.run(LOOK, skill_dir=place)  # with the skill first: no file of it may reach the next workspace
    seen = json.loads(bench.run(LOOK, skill=skill, skill_dir=place).answer)
    assert "SKILLSV_SKILL" not in seen["env"]
    assert seen["files"] == ["in/data.csv"]
    assert "pdf-tools" not in json.dumps(seen)
    assert "magic" not in json.dumps(seen)


def test_the_program_sees_only_declared_variables(bench, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-secret-value")
    monkeypatch.setenv("DECLARED", "shown")
    seen = json.loads(bench.run(LOOK, forward_env=("DECLARED",)).answer)
    ours = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "TMPDIR", "DECLARED"}
    shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    marks = {"SKILLSV_SKILL", "SKILLSV_TASK_ID", "SKILLSV_REPLICATE", "SKILLSV_ROLLOUT", "SKILLSV_USAGE"}
    assert set(seen["env"]) <= ours | shell | marks
    assert seen["env"]["HOME"].startswith(seen["cwd"])
    assert seen["env"]["TMPDIR"].startswith(seen["cwd"])


def test_a_declared_secret_is_redacted_in_output_and_errors(bench, monkeypatch):
    monkeypatch.setenv("API_KEY", "sk-secret-value")
    code = "import os, sys; print(len(os.environ['API_KEY']), os.environ['API_KEY']); sys.stderr.write(os.environ['API_KEY'])"
    outcome = bench.run(code, forward_env=("API_KEY",))
    assert outcome.answer == "15 [API_KEY]\n"
    assert outcome.transcript == "[API_KEY]"
    failure = bench.fails("import os, sys; sys.exit(os.environ['API_KEY'])", forward_env=("API_KEY",))
    assert "sk-secret" not in str(failure)
    assert "[API_KEY]" in str(failure)


def test_a_crash_is_a_failure_with_the_last_line_of_stderr(bench):
    failure = bench.fails("raise ValueError('no luck')")
    assert failure.kind == "crash"
    assert "ended with exit code 1: ValueError: no luck" in str(failure)


def test_a_program_ended_by_a_signal_is_a_failure(bench):
    failure = bench.fails("import os; os.kill(os.getpid(), 9)")
    assert (failure.kind, "was ended by signal 9" in str(failure)) == ("crash", True)


def test_a_program_that_hangs_is_a_timeout(bench):
    failure = bench.fails("import signal; signal.pause()", timeout=0.5)
    assert failure.kind == "timeout"
    assert "did not end within 0.5 s" in str(failure)


def test_output_over_the_limit_is_refused(bench):
    failure = bench.fails("import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)", output_bytes=1_000_000)
    assert (failure.kind, "printed more than 1000000 bytes" in str(failure)) == ("bad-output", True)


def test_output_that_is_not_utf8_is_refused(bench):
    failure = bench.fails(r"import sys; sys.stdout.buffer.write(b'ok \xff')")
    assert (failure.kind, "not UTF-8 (at byte 3)" in str(failure)) == ("bad-output", True)


FORKS = """
import os, signal
ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(told, b"x")
    while True:
        signal.pause()
os.read(ready, 1)
print("parent is done")
"""


def test_a_child_process_is_ended_after_the_answer(bench):
    assert bench.run(FORKS).answer == "parent is done\n"  # `Bench.run` checks that no process runs in the workspace


@pytest.mark.heavy
def test_a_program_that_ignores_sigterm_is_killed(bench):
    code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"
    assert bench.fails(code, timeout=0.7).kind == "timeout"


def test_the_file_limit_stops_a_program_that_writes_too_much(bench):
    code = "f = open('big', 'wb')\nfor _ in range(100): f.write(b'x' * 1_000_000); f.flush()"
    failure = bench.fails(code, file_bytes=2_000_000)
    assert (failure.kind, "File too large" in str(failure)) == ("crash", True)


def test_a_crash_on_a_full_disk_is_a_disk_failure(bench, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10, used=10, free=0))
    assert bench.fails("raise OSError(28, 'No space left on device')").kind == "disk"


def test_a_skill_dir_that_leaves_the_workspace_is_refused(bench):
    with pytest.raises(RolloutError, match="leaves the folder"):
        bench.run("print(1)", skill_dir="../outside")


def test_a_program_that_removes_its_own_folder_may_still_answer(bench):
    assert bench.run("import os, shutil; shutil.rmtree(os.getcwd()); print('gone')").answer == "gone\n"
    assert bench.fails("import os, shutil, sys; shutil.rmtree(os.getcwd()); sys.exit(1)").kind == "crash"


def test_a_removed_program_is_a_failure(bench):
    script = bench.user / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    agent = make_agent("command:./run.sh", AgentOptions(folder=bench.user, file_bytes=None))
    script.unlink()
    with pytest.raises(AgentFailure, match="cannot be started"), fresh_workspace(bench.task) as folder:
        anyio.run(agent.run, None, bench.task, 0, folder)


def test_a_cancelled_rollout_leaves_no_files_and_processes(bench):
    os.mkfifo(bench.user / "up")
    agent = bench.agent(f"import signal\nopen({str(bench.user / 'up')!r}, 'w').write('up')\nsignal.pause()")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(rollout)
            await anyio.to_thread.run_sync((bench.user / "up").read_text)
            group.cancel_scope.cancel()

    async def rollout() -> None:
        async with fresh_workspace(bench.task, parent=bench.work) as folder:
            await agent.run(SKILL, bench.task, 0, folder)

    anyio.run(main)
    assert list(bench.work.iterdir()) == []
    assert [p.pid for p in psutil.process_iter(["cwd"]) if str(bench.work) in (p.info["cwd"] or "")] == []


def test_the_fingerprint_covers_command_files_and_placement(bench):
    (bench.user / "conf.toml").write_text("a = 1")

    def fingerprint(command: str, **options) -> str:
        return make_agent(f"command:{sys.executable} {command}", AgentOptions(folder=bench.user, **options)).fingerprint

    bench.agent("print(1)")
    first = fingerprint("agent.py --config=conf.toml")
    assert fingerprint("agent.py --config=conf.toml", timeout=3.0) == first
    others = {
        fingerprint("agent.py --config=conf.toml -v"),
        fingerprint("agent.py --config=conf.toml", skill_dir=".claude/skills"),
        fingerprint("agent.py --config=conf.toml", forward_env=("KEY",)),
        fingerprint("agent.py --config=conf.toml", show_target=True),
    }
    (bench.user / "conf.toml").write_text("a = 2")
    others.add(fingerprint("agent.py --config=conf.toml"))
    (bench.user / "conf.toml").write_text("a = 1")
    assert fingerprint("agent.py --config=conf.toml") == first
    bench.agent("print(2)")
    others.add(fingerprint("agent.py --config=conf.toml"))
    assert len(others | {first}) == 7


@pytest.mark.parametrize(("shown", "recorded"), [(False, "True"), (True, "False")])
def test_the_fingerprint_equals_that_of_earlier_versions(bench, shown, recorded):
    """Earlier versions recorded whether the target is hidden."""
    agent = bench.agent("print(1)", show_target=shown)
    words = [f"{sys.executable} -I agent.py", "", recorded]
    sources = command_sources(command_line(words[0], bench.user))
    assert agent.fingerprint == f"command/1:{digest_files(words, sources)}"


def test_the_fingerprint_covers_a_forwarded_value_but_does_not_hold_it(bench, monkeypatch):
    prints = set()
    for value in ("first-key", "second-key"):
        monkeypatch.setenv("KEY", value)
        prints.add(bench.agent("print(1)", forward_env=("KEY",)).fingerprint)
    assert len(prints) == 2
    assert len({first_part(text) for text in prints}) == 1
    assert not [text for text in prints if "-key" in text]


def test_stdin_text_is_the_input_alone(bench):
    assert bench.run("import sys; print(sys.stdin.read(), end='')", stdin="text").answer == "How många?"
    assert bench.agent("print(1)", stdin="text").fingerprint != bench.agent("print(1)").fingerprint


def test_placeholders_reach_the_program_as_arguments(bench):
    (bench.user / "agent.py").write_text("import json, sys; print(json.dumps([sys.argv[1:], sys.stdin.read()]))")
    command = f"command:{sys.executable} -I agent.py --skill {{skill}} {{input}}"
    agent = make_agent(command, AgentOptions(folder=bench.user))

    async def main(skill: Rendering) -> list[object]:
        async with fresh_workspace(bench.task, parent=bench.work) as folder:
            return json.loads((await agent.run(skill, bench.task, 0, folder)).answer)

    words, stdin = anyio.run(main, SKILL)
    assert (words[0], Path(words[1]).name, words[2], stdin) == ("--skill", "pdf-tools", "How många?", "")
    assert anyio.run(main, EMPTY) == [["How många?"], ""]


REPORT = """
import json, os, sys
open(os.environ["SKILLSV_USAGE"], "w").write(sys.argv[1] if len(sys.argv) > 1 else {usage!r})
print("answer")
sys.exit({code})
"""
USAGE = '{"input_tokens": 1800, "output_tokens": 60, "cost_usd": 0.5, "turns": 3, "skill_opened": false, "more": 1}'


def test_usage_is_read_from_the_file_that_the_program_writes(bench):
    outcome = bench.run(REPORT.format(usage=USAGE, code=0))
    assert outcome.usage == Usage(input_tokens=1800, output_tokens=60, usd=0.5)
    assert (outcome.answer, outcome.turns, outcome.opened) == ("answer\n", 3, False)


def test_usage_of_a_program_that_fails_is_counted(bench):
    failure = bench.fails(REPORT.format(usage=USAGE, code=1))
    assert failure.usage == Usage(input_tokens=1800, output_tokens=60, usd=0.5)


@pytest.mark.parametrize("usage", ["no json", '{"cost_usd": -1}', '{"input_tokens": "many"}', "[" * 9999, " " * 70_000])
def test_an_unusable_usage_file_keeps_the_answer_and_says_so(bench, usage):
    outcome = bench.run(REPORT.format(usage=usage, code=0))
    assert (outcome.answer, outcome.usage, outcome.opened) == ("answer\n", Usage(), None)
    assert "SKILLSV_USAGE cannot be read" in outcome.transcript


def test_a_program_without_a_usage_file_has_unknown_usage(bench):
    outcome = bench.run("print('answer')")
    assert (outcome.usage, outcome.turns, outcome.opened, outcome.transcript) == (Usage(), None, None, None)


def test_endless_output_ends_the_rollout_long_before_its_time_limit(bench):
    failure = bench.fails("while True: print('x' * 99)", output_bytes=100_000, timeout=None)
    assert (failure.kind, "printed more than 100000 bytes and was stopped" in str(failure)) == ("bad-output", True)
