"""What a client is asked, how its programs are run, and what it is told when they fail."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.errors import AgentFailure, Unavailable
from skillsv.model.rollout import Ending, Usage
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv_bench.benchmark import Source
from skillsv_bench.conversation import Reply
from skillsv_bench.spreadsheetbench import BENCHMARK
from skillsv_bench.spreadsheetbench import programs as programs_module
from skillsv_bench.spreadsheetbench.agents import ProgramWritingAgent
from skillsv_bench.spreadsheetbench.programs import Runner, libraries, remove_path_assignments
from skillsv_bench.spreadsheetbench.prompt import NO_CODE, extract_code, failure_message, system_message, user_message
from skillsv_bench.spreadsheetbench.tasks import load

GOLDEN = Path(__file__).parent / "golden"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text().removesuffix("\n")


def test_prompts_word_for_word(rendering):
    both = ("openpyxl", "pandas")
    assert system_message(rendering("\n# Sheets\n\n- Count twice.\n\n"), both) == golden("system_with_skill")
    assert system_message(None, ("openpyxl",)) == golden("system_without")
    shown = "## Sheet: Shop (used range A1:B9)\nA1=fruit | B1=price"
    assert user_message(" Sum them.\n", "Cell-Level Manipulation", "C2:C9", shown) == golden("user")


def test_a_skill_of_no_words_has_no_section(rendering):
    assert system_message(rendering(" \n"), ("openpyxl",)) == system_message(None, ("openpyxl",))


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("Here:\n\n```Python\nx = 1\n```\nand\n```python\nx = 2\n```", "x = 1\n"),
        ("```py\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("```text\nwords\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```\nwords\n```\n```python\nx = 1\n```", "x = 1\n"),
        ("```python\nx = '```'\ny = 2\n```", "x = '```'\ny = 2\n"),
        ("  ```python\n  x = 1\n  ```", "  x = 1\n"),
        ("```python\nx = 1", None),
        ("```json\n{}\n```", None),
        ("x = 1", None),
        ("", None),
    ],
)
def test_the_program_in_a_reply(reply, code):
    assert extract_code(reply) == code


def test_of_a_long_failure_the_end_is_told():
    said = "".join(f"line {number}\n" for number in range(1_000)) + "ValueError: at the end"
    told = failure_message(said)
    assert said[-3_000:] in told
    assert said[-3_001:] not in told


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("INPUT_PATH = '...'\nx = 1\n", "\nx = 1\n"),
        ("x = 1\nOUTPUT_PATH = 'out.xlsx'  # set it\ny = 2\n", "x = 1\n\ny = 2\n"),
        ("INPUT_PATH = OUTPUT_PATH\n", "INPUT_PATH = OUTPUT_PATH\n"),
        ("def f():\n    INPUT_PATH = 'x'\n", "def f():\n    INPUT_PATH = 'x'\n"),
        ("INPUT_PATH = (\n    'x'\n)\ny = 2\n", "\n\n\ny = 2\n"),
        ("path = 'x'\n", "path = 'x'\n"),
        ("INPUT_PATH = 'x'\nif\n", "INPUT_PATH = 'x'\nif\n"),
    ],
)
def test_paths_from_a_template_do_not_hide_the_real_ones(code, left):
    assert remove_path_assignments(code) == left


class Script:
    """Says one thing after the other, and keeps what it was told."""

    fingerprint = "script/1"

    def __init__(self, *replies: str) -> None:
        self.replies = replies
        self.heard: list[list] = []

    async def reply(self, messages, context, tools=()):
        assert not tools
        self.heard.append([(message.role, message.text) for message in messages])
        return Reply(text=self.replies[len(self.heard) - 1], usage=Usage(output_tokens=3))


def block(code: str) -> str:
    return f"Sure.\n```python\n{code}\n```\n"


RIGHT = block(
    "import openpyxl\nbook = openpyxl.load_workbook(INPUT_PATH)\n"
    "book['Shop']['C2'] = sum(cell.value for cell in book['Shop']['B'][1:])\nbook.save(OUTPUT_PATH)"
)


@pytest.fixture
def task(data):
    return load(Source(data=data.folder)).tasks[0]


@pytest.fixture
def runner():
    if error := find_sandbox_problem(libraries(sandbox=True).folders):
        pytest.skip(error)
    return Runner.of(AgentOptions())


def work(agent, task, skill=None):
    """The outcome, its score, and what lies in the working folder afterwards."""

    async def run():
        async with fresh_workspace(task) as folder:
            outcome = await agent.run(skill, task, 0, folder)
            score = await BENCHMARK.verifier().score(task, outcome, folder)
            return outcome, score, {path.name for path in folder.iterdir()}

    return anyio.run(run)


def test_a_program_is_corrected_until_it_saves_a_workbook(task, runner, rendering):
    skill = rendering("Add up the prices.")
    script = Script(
        "Let me think.",
        block("import openpyxl\nopenpyxl.load_workbook(INPUT_PATH)['Stock']"),
        block("import openpyxl\nopenpyxl.load_workbook(INPUT_PATH)"),
        RIGHT,
        "never said",
    )
    agent = ProgramWritingAgent(script, runner, turns=30)
    outcome, score, left = work(agent, task, skill)
    assert score == 1.0
    assert len(script.heard) == 4
    assert script.heard[0] == [("system", system_message(skill, runner.libraries.names)), ("user", task.input)]
    told = [text for role, text in script.heard[-1] if role == "user"][1:]
    assert told[0] == NO_CODE
    assert "KeyError: 'Worksheet Stock does not exist.'\n[exit code 1]\n```" in told[1]
    assert 'File "solution.py", line 2, in <module>' in told[1]
    assert "the program ended without an error but saved no workbook to OUTPUT_PATH." in told[2]
    assert outcome.answer == extract_code(RIGHT)
    assert outcome.usage.output_tokens == 12
    assert outcome.opened
    assert outcome.transcript is not None
    assert outcome.transcript.count("[assistant]") == 4
    assert left == {"input.xlsx", "output.xlsx", "solution.py"}


def test_no_more_turns_than_are_allowed(task, runner):
    script = Script(*["words"] * 3)
    outcome, score, left = work(ProgramWritingAgent(script, runner, turns=3), task)
    assert (len(script.heard), outcome.answer, score, outcome.opened) == (3, "words", 0.0, False)
    assert left == {"input.xlsx"}


@pytest.mark.parametrize(
    ("last", "cut", "ending"),
    [(RIGHT, True, Ending.ANSWERED), ("words", True, Ending.CUT), ("words", False, Ending.TURN_LIMIT)],
)
def test_without_a_workbook_the_outcome_says_how_the_rollout_ended(task, last, cut, ending):
    class Cut(Script):
        async def reply(self, messages, context, tools=()):
            return replace(await super().reply(messages, context, tools), cut=cut)

    runner = Runner.of(AgentOptions(chat=ChatOptions(sandbox=False)))
    assert work(ProgramWritingAgent(Cut("words", last), runner, turns=2), task)[0].ending is ending


def test_a_failure_in_a_later_turn_says_what_was_paid(task, runner):
    class Tired(Script):
        async def reply(self, messages, context, tools=()):
            if self.heard:
                raise AgentFailure("no more.", kind="rate-limit", usage=Usage(output_tokens=1))
            return await super().reply(messages, context, tools)

    with pytest.raises(AgentFailure) as caught:
        work(ProgramWritingAgent(Tired("words"), runner, turns=3), task)
    assert caught.value.usage == Usage(output_tokens=4)


def test_each_program_starts_from_the_workbook_as_it_was(task, runner):
    spoil = block("open(INPUT_PATH, 'w').write('x'); open(OUTPUT_PATH, 'w').write('x'); raise SystemExit(3)")
    script = Script(spoil, block("import os\nassert not os.path.exists(OUTPUT_PATH)\n" + extract_code(RIGHT)))
    _, score, _ = work(ProgramWritingAgent(script, runner, turns=2), task)
    assert score == 1.0
    assert "[exit code 3]" in script.heard[1][-1][1]


def test_a_wrong_workbook_ends_the_talk_as_well(task, runner):
    script = Script(block("import shutil; shutil.copy(INPUT_PATH, OUTPUT_PATH)"), "never said")
    _, score, _ = work(ProgramWritingAgent(script, runner, turns=9), task)
    assert (score, len(script.heard)) == (0.0, 1)


def test_a_program_without_end_is_stopped_and_told_so(task, runner):
    limited = Runner.of(AgentOptions(chat=ChatOptions(run_seconds=1.0)))
    script = Script(block("while True: pass"), "words")
    work(ProgramWritingAgent(script, limited, turns=2), task)
    assert "[stopped after 1 s]" in script.heard[1][-1][1]


def test_programs_have_their_libraries_and_nothing_else(task, runner, data):
    gold = repr(str(data.file(101, "answer")))
    script = Script(
        block(f"open({gold})"),
        block(f"import os; os.symlink({gold}, OUTPUT_PATH)"),
        block("import skillsv"),
        block("import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"),
        block(f"import {', '.join(runner.libraries.names)}; raise ValueError('imported')"),
        "words",
    )
    _, score, _ = work(ProgramWritingAgent(script, runner, turns=6), task)
    told = [text for role, text in script.heard[-1] if role == "user"][1:]
    assert "FileNotFoundError" in told[0]
    assert "saved no workbook" in told[1]
    assert "No module named 'skillsv'" in told[2]
    assert "OSError" in told[3]
    assert "ValueError: imported" in told[4]
    assert score == 0.0


def test_without_a_sandbox_programs_run_as_the_user(task):
    runner = Runner.of(AgentOptions(chat=ChatOptions(sandbox=False)))
    script = Script(block("import sys; raise ValueError(sys.prefix)"), RIGHT)
    agent = ProgramWritingAgent(script, runner, turns=2)
    _, score, _ = work(agent, task)
    assert sys.prefix in script.heard[1][-1][1]
    assert score == 1.0
    assert "sandbox=False" in agent.fingerprint


def test_where_there_is_no_sandbox_it_says_what_to_do(monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(PROGRAM)
    monkeypatch.setattr(programs_module, "find_sandbox_problem", lambda _: "there is none.")
    with pytest.raises(Unavailable, match=r"cannot be sandboxed: there is none. Run them unprotected: --no-sandbox."):
        BENCHMARK.wrap_agent("python:mine.py:run", AgentOptions(folder=tmp_path))


def test_a_fingerprint_names_all_that_may_change_an_answer(runner):
    names = {
        ProgramWritingAgent(Script(), runner, turns=30).fingerprint,
        ProgramWritingAgent(Script(), runner, turns=29).fingerprint,
    }
    names.add(ProgramWritingAgent(Script(), Runner.of(AgentOptions(chat=ChatOptions(run_seconds=9.0))), 30).fingerprint)
    assert len(names) == 3
    assert all(re.search(r"openpyxl==3\..*:script/1$", name) for name in names)


PROGRAM = """
import openpyxl
def run(skill, task, replicate):
    turn = task.metadata["turn"]
    if turn == 0:
        return "I will look at " + ", ".join(task.files)
    book = openpyxl.load_workbook(task.folder / "input.xlsx")
    book["Shop"]["C2"] = 3.75
    book.save(task.folder / "output.xlsx")
    return f"done in turn {turn}: {task.metadata['answer_position']}"
"""


def test_a_program_of_the_user_may_save_the_workbook_itself(task, runner, tmp_path):
    (tmp_path / "mine.py").write_text(PROGRAM)
    agent = BENCHMARK.wrap_agent("python:mine.py:run", AgentOptions(folder=tmp_path))
    outcome, score, left = work(agent, task)
    assert score == 1.0
    assert outcome.answer == "done in turn 1: C2"
    assert "solution.py" not in left


def test_a_model_is_asked_by_this_protocol(task, runner, provider, rendering):
    from fake_provider import say

    replies = [say(block("raise ValueError('first')")), say(RIGHT)]
    provider.reply = lambda _: replies[len(provider.requests) - 1]
    options = AgentOptions(chat=ChatOptions(base_url=provider.url, turns=30))
    agent = BENCHMARK.wrap_agent("model:openai:m", options)
    skill = rendering("Add up the prices.")
    outcome, score, _ = work(agent, task, skill)
    assert score == 1.0
    first, second = provider.requests
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert first["messages"][0]["content"] == system_message(skill, runner.libraries.names)
    assert "tools" not in first
    assert "ValueError: first" in second["messages"][-1]["content"]
    assert outcome.usage.output_tokens == 14
