"""The Python agent: the arguments of the function, its results and its failures."""

from __future__ import annotations

import textwrap
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace


def rendering(*files: RenderedFile) -> Rendering:
    return Rendering(
        coalition=frozenset({"a"}), operator=Operator.PAD, skill_name="demo", main="SKILL.md", files=files, digest="d"
    )


SKILL = rendering(
    RenderedFile(path="SKILL.md", data="# Wörter\n".encode(), digest=""),
    RenderedFile(path="data/x.bin", data=b"\0\xff", digest=""),
)


def run(
    folder: Path, code: str, skill: Rendering | None = SKILL, *, name: str = "run", task: Task | None = None, **options
) -> Outcome:
    (folder / "agent.py").write_text(textwrap.dedent(code))
    agent = make_agent(f"python:agent.py:{name}", AgentOptions(folder=folder, **options))
    task = task or Task(id="q", input="?", target="t", stratum="s", verifier="exact", metadata={"k": 1})

    async def main() -> Outcome:
        async with fresh_workspace(task) as workspace:
            return await agent.run(skill, task, 2, workspace)

    return anyio.run(main)


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_plain_and_async_functions_answer(tmp_path, kind):
    code = f"{kind} run(skill, task, replicate): return f'{{skill.text.strip()}} {{task.id}} {{replicate}}'"
    assert run(tmp_path, code).answer == "# Wörter q 2"


def test_an_outcome_is_passed_through(tmp_path):
    code = """
    from skillsv.model.rollout import Outcome, Usage
    def run(skill, task, replicate):
        return Outcome(answer="a", usage=Usage(input_tokens=5), opened=True)
    """
    outcome = run(tmp_path, code)
    assert (outcome.answer, outcome.usage.input_tokens, outcome.opened) == ("a", 5, True)


@pytest.mark.parametrize("skill", [None, rendering()])
def test_the_bare_agent_gets_none(tmp_path, skill):
    code = "def run(skill, task, replicate): return f'{skill} {list(task.folder.rglob(chr(42)))}'"
    assert run(tmp_path, code, skill).answer == "None []"


def test_the_skill_has_text_files_and_a_folder(tmp_path):
    code = """
    def run(skill, task, replicate):
        before = list(task.folder.iterdir())
        folder = skill.folder
        assert folder == skill.folder and folder.name == skill.name == "demo"
        assert (folder / "SKILL.md").read_bytes() == skill.files["SKILL.md"]
        assert (folder / "data/x.bin").read_bytes() == skill.files["data/x.bin"] == b"\\0\\xff"
        return f"{before} {folder.relative_to(task.folder)}"
    """
    assert run(tmp_path, code).answer == "[] .skillsv/skills/demo"
    assert run(tmp_path, code, skill_dir=".claude/skills").answer == "[] .claude/skills/demo"


def test_a_large_file_is_read_from_its_origin(tmp_path):
    (tmp_path / "large").write_bytes(b"big")
    skill = rendering(RenderedFile(path="large", data=None, digest="", origin=tmp_path / "large"))
    assert run(tmp_path, "def run(skill, task, replicate): return skill.files['large'].decode()", skill).answer == "big"


def test_the_task_has_the_fields_of_its_line(tmp_path):
    code = """
    def run(skill, task, replicate):
        assert dict(task)["id"] == task["id"] == task.id == task.get("id")
        assert task.get("nothing", 3) == 3
        try:
            task["nothing"]
        except KeyError:
            pass
        return repr((task.input, task.get("target"), task.stratum, getattr(task, "verifier", None), task.metadata))
    """
    assert eval(run(tmp_path, code).answer) == ("?", None, "s", None, {"k": 1})
    assert eval(run(tmp_path, code, show_target=True).answer) == ("?", "t", "s", "exact", {"k": 1})


def test_the_files_of_a_task_are_in_its_folder(tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    task = Task(id="q", input="?", files={"in/data.csv": tmp_path / "data.csv"})
    code = """
    def run(skill, task, replicate):
        path = task.files["in/data.csv"]
        assert path == task.folder / "in/data.csv"
        return path.read_text()
    """
    assert run(tmp_path, code, task=task).answer == "1,2"


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize(
    ("body", "failure", "sentence"),
    [
        ("raise ValueError('no luck')", "crash", "agent.py:2: ValueError: no luck"),
        ("import sys; sys.exit(3)", "crash", "agent.py:2: SystemExit: 3"),
        ("raise TimeoutError('its own')", "crash", "TimeoutError: its own"),
        ("return 42", "bad-output", "agent.py:run returned int instead of text or an Outcome"),
        ("return None", "bad-output", "returned NoneType"),
        ("return 'x' * 1001", "bad-output", "returned more than 1000 characters"),
        (
            "from skillsv.errors import AgentFailure; raise AgentFailure('busy', kind='rate-limit')",
            "rate-limit",
            "busy",
        ),
    ],
)
def test_every_error_is_a_failure_of_its_kind(tmp_path, kind, body, failure, sentence):
    with pytest.raises(AgentFailure) as caught:
        run(tmp_path, f"{kind} run(skill, task, replicate):\n    {body}\n", output_bytes=1000)
    assert caught.value.kind == failure
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "code",
    [
        "import threading\ndef run(skill, task, replicate): threading.Event().wait()",
        "import anyio\nasync def run(skill, task, replicate): await anyio.sleep_forever()",
    ],
)
def test_a_function_that_hangs_is_a_timeout(tmp_path, code):
    with pytest.raises(AgentFailure, match=r"agent\.py:run did not return within 0\.1 s") as caught:
        run(tmp_path, code, timeout=0.1)
    assert caught.value.kind == "timeout"


def test_a_cancelled_rollout_is_no_failure(tmp_path):
    (tmp_path / "agent.py").write_text(
        "import anyio\nasync def run(skill, task, replicate): await anyio.sleep_forever()"
    )
    agent = make_agent("python:agent.py:run", AgentOptions(folder=tmp_path))

    async def main() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await agent.run(None, Task(id="q", input="?"), 0, tmp_path)
        return scope.cancelled_caught

    assert anyio.run(main)


def test_a_missing_function_is_an_error_with_the_known_names(tmp_path):
    with pytest.raises(SettingsError, match=r"has no `walk`\. It has: run"):
        run(tmp_path, "def run(skill, task, replicate): return ''", name="walk")


def test_the_fingerprint_covers_file_name_and_placement(tmp_path):
    def fingerprint(name: str = "run", **options) -> str:
        return make_agent(f"python:agent.py:{name}", AgentOptions(folder=tmp_path, **options)).fingerprint

    (tmp_path / "agent.py").write_text("def run(skill, task, replicate): return ''\ndef other(*all): return ''\n")
    first = fingerprint()
    assert fingerprint(timeout=1.0) == first
    assert first.endswith(":True")  # earlier versions recorded whether the target is hidden
    assert fingerprint(show_target=True) == first.removesuffix("True") + "False"
    others = {fingerprint("other"), fingerprint(skill_dir="x"), fingerprint(show_target=True)}
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate): return 'x'\n")
    others.add(fingerprint())
    assert len(others | {first}) == 5
    assert str(tmp_path) not in first


@pytest.mark.parametrize("parameters", ["task", "skill, task, replicate, more", "*, skill, task, replicate"])
def test_a_wrong_signature_is_refused_before_the_first_rollout(tmp_path, parameters):
    (tmp_path / "agent.py").write_text(f"def run({parameters}): return ''")
    agent = make_agent("python:agent.py:run", AgentOptions(folder=tmp_path))
    with pytest.raises(SettingsError, match=r"def run\(skill, task, replicate\)"):
        agent.load()


@pytest.mark.parametrize("parameters", ["*arguments", "a, b, c=0, **more"])
def test_a_signature_that_takes_three_values_is_accepted(tmp_path, parameters):
    assert run(tmp_path, f"def run({parameters}): return 'a'").answer == "a"
