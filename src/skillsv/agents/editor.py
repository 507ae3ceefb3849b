"""Editors rewrite a skill: a program, a Python function, or any agent that answers in text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from skillsv.agents.make import make_agent
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.format import with_bounds
from skillsv.model.protocols import Agent, Editor
from skillsv.model.rollout import Ending, FailureKind
from skillsv.model.task import Task
from skillsv.model.usage_meter import report_usage
from skillsv.model.value import UnitReport, Valuation
from skillsv.sandbox.folders import walk_files
from skillsv.sandbox.process import Limits, private_environment, run_program
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sources import command_line
from skillsv.sandbox.user_function import FunctionTimeout, call_function, describe, line_of, load_function
from skillsv.sandbox.workspace import check_relative_path, fresh_workspace

PROMPT = "editor_prompt.md"
"""The file beside this module with the paper's instruction to an editor."""

_FILE_BLOCK = re.compile(r'<file path="([^"\n]+)">\n(.*?)</file>', re.DOTALL)
"""A changed file in the answer of an agent."""

_REMOVED_FILE = re.compile(r'<remove path="([^"\n]+)"\s*/>')
"""A removed file in the answer of an agent."""

_ANSWER_FORMAT = (
    'Answer with every file that you change, whole, between <file path="..."> and </file> on lines of their own, and '
    '<remove path="..."/> for a file that goes. A file that you do not mention stays as it is.'
)
"""The end of the instruction to an agent; it describes the two patterns above."""

_MAX_SKILL_BYTES = 16 * 1024 * 1024
"""Largest edited skill that is read back."""

_ANSWER_TOKENS = 32_768
"""Tokens that a model may use for its answer: it may write all files of a skill."""

_QUOTED_LINES = 12
"""Lines of a unit that the instruction quotes, so that long units do not fill the prompt."""

_STDERR_CHARS = 300
"""Longest part of a program's stderr that an error message quotes."""


def make_editor(spec: str, options: AgentOptions) -> Editor:
    """The editor that a specification names: `command:PROGRAM ...`, `python:FILE.py:name`, or a model.

    A model is called without tools, on the server of `options`. The stop texts of `options` are left out: they would
    cut files.
    """
    scheme, colon, rest = spec.partition(":")
    if not colon or not rest.strip() or scheme == "planted":
        raise SettingsError(
            f"`{spec}` is not an editor.", hint="Known: model:PROVIDER:NAME, command:PROGRAM ..., python:FILE.py:name."
        )
    if scheme == "command":
        return CommandEditor(rest, options)
    if scheme == "python":
        return PythonEditor(rest, options)
    chat = replace(options.chat, tools="none", max_output_tokens=_ANSWER_TOKENS, stop=())
    return AgentEditor(make_agent(spec, replace(options, chat=chat)))


class CommandEditor:
    """Runs a program that edits the folder in SKILLSV_SKILL in place; the instruction and the report are on stdin."""

    def __init__(self, command: str, options: AgentOptions) -> None:
        self._options = options
        self._argv = command_line(command, options.folder)

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """The files of the folder after the program has ended. A non-zero exit is a failure."""
        async with fresh_workspace(Task(id="refine", input=instruction)) as workspace:
            folder = workspace / "skill"
            _write_files(files, folder)
            env = private_environment(workspace, self._options.forward_env) | {"SKILLSV_SKILL": str(folder)}
            limits = Limits(seconds=self._options.timeout, output_bytes=self._options.output_bytes)
            name = Path(self._argv[0]).name
            try:
                done = await run_program(self._argv, cwd=folder, env=env, stdin=instruction.encode(), limits=limits)
            except OSError as error:
                raise AgentFailure(f"{name} cannot be started: {error.strerror}.") from error
            if done.timed_out:
                raise AgentFailure(f"{name} did not end within {self._options.timeout:g} s.", kind=FailureKind.TIMEOUT)
            if done.code:
                last_line = "".join(done.stderr.decode("utf-8", errors="replace").strip().splitlines()[-1:])
                reason = f": {redact(last_line)[:_STDERR_CHARS]}" if last_line else ""
                raise AgentFailure(f"{name} ended with exit code {done.code}{reason}")
            return _read_files(folder)


class PythonEditor:
    """Calls `name(files, instruction)`, plain or `async`, which returns the new files: path to bytes or text."""

    def __init__(self, place: str, options: AgentOptions) -> None:
        self._options = options
        self._user = load_function(place, options.folder)

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """The files that the function returns."""
        try:
            answer = await call_function(self._user.function, (dict(files), instruction), self._options.timeout)
        except FunctionTimeout:
            raise AgentFailure(f"{self._user.name} did not return in time.", kind=FailureKind.TIMEOUT) from None
        except (Exception, SystemExit) as error:  # an error in the user's code becomes a failure with one message
            place = f"{self._user.file.name}:{line_of(error, self._user.file)}"
            raise AgentFailure(f"{place}: {describe(error)}") from error
        return _check_files(answer, self._user.name)


class AgentEditor:
    """Asks an agent for the new files as text: `<file path="SKILL.md">` ... `</file>`, `<remove path="x.md"/>`."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """The files with the replacements and removals of the answer; a file that it does not name is unchanged."""
        texts = "\n".join(f'<file path="{path}">\n{text}</file>' for path, text in _decode_texts(files).items())
        task = Task(id="refine", input=f"{instruction}\n\n# The skill\n\n{texts}\n\n{_ANSWER_FORMAT}")
        async with fresh_workspace(task) as workspace:
            outcome = await self._agent.run(None, task, 0, workspace)
        report_usage(outcome.usage)
        if outcome.ending is Ending.CUT:
            raise AgentFailure("the token limit cut the editor's answer.", kind=FailureKind.CUT_ANSWER)
        changed = {path: text.encode() for path, text in _FILE_BLOCK.findall(outcome.answer)}
        removed = set(_REMOVED_FILE.findall(outcome.answer))
        if not changed and not removed:
            raise AgentFailure("the editor's answer holds no file.", kind=FailureKind.BAD_OUTPUT)
        return {path: data for path, data in {**files, **changed}.items() if path not in removed}


def editor_instruction(valuation: Valuation, complaints: Sequence[str] = ()) -> str:
    """The paper's instruction and the report of every unit, in points. `complaints` say why a version was refused."""
    parts = [files("skillsv.agents").joinpath(PROMPT).read_text(encoding="utf-8").rstrip()]
    lift = valuation.estimate.content_lift
    parts.append(f"# The report\n\nThe whole skill lifts the score by {with_bounds(lift)} points.")
    parts.append("\n\n".join(_describe_unit(unit) for unit in valuation.units))
    if complaints:
        reasons = "\n".join(f"- {complaint}" for complaint in complaints)
        parts.append(f"# Your last version was refused\n\n{reasons}\n\nBegin again from the original skill.")
    return "\n\n".join(parts) + "\n"


def _describe_unit(unit: UnitReport) -> str:
    values = [f"net effect {with_bounds(unit.value.on_panel)}"]
    if unit.value.content is not None and unit.value.cost is not None:
        values += [f"content {with_bounds(unit.value.content)}", f"cost {with_bounds(unit.value.cost)}"]
    place = f"{unit.file}, lines {unit.lines.first} to {unit.lines.last}"
    quoted = "\n".join(f"> {line}" for line in unit.text.strip().splitlines()[:_QUOTED_LINES])
    return (
        f"## {unit.id}: {unit.verdict.action}\n\n{place}; {unit.tokens} tokens; {', '.join(values)}.\n"
        f"{unit.verdict.reason}\n\n{quoted}"
    )


def _decode_texts(files: Mapping[str, bytes]) -> dict[str, str]:
    """The files that are UTF-8 text."""
    texts = {}
    for path, data in files.items():
        try:
            texts[path] = data.decode()
        except UnicodeDecodeError:
            continue
    return texts


def _check_files(answer: Any, name: str) -> dict[str, bytes]:
    """The files that the function `name` returned, as bytes. Raises AgentFailure for any other value."""
    if not isinstance(answer, Mapping):
        raise AgentFailure(
            f"{name} returned {type(answer).__name__} instead of files (path to bytes).", kind=FailureKind.BAD_OUTPUT
        )
    checked: dict[str, bytes] = {}
    for path, data in answer.items():
        if not isinstance(path, str) or not isinstance(data, (bytes, str)):
            raise AgentFailure(
                f"{name} returned a file that is neither bytes nor text: {path!r}.", kind=FailureKind.BAD_OUTPUT
            )
        checked[path] = data.encode() if isinstance(data, str) else data
    return checked


def _write_files(files: Mapping[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        place = folder / check_relative_path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _read_files(folder: Path) -> dict[str, bytes]:
    """Every regular file below the folder. Links are not followed, so no file outside the folder is read."""
    if not folder.is_dir() or folder.is_symlink():
        return {}
    contents: dict[str, bytes] = {}
    remaining = _MAX_SKILL_BYTES
    for path in sorted(walk_files(folder)):
        if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder):
            continue
        remaining -= path.stat().st_size
        if remaining < 0:
            raise AgentFailure("the edited skill is larger than 16 MB.", kind=FailureKind.BAD_OUTPUT)
        contents[path.relative_to(folder).as_posix()] = path.read_bytes()
    return contents
