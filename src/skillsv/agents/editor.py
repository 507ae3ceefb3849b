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
from skillsv.model.value import UnitReport, Valuation
from skillsv.sandbox.process import Limits, private_environment, run_program
from skillsv.sandbox.sources import command_line
from skillsv.sandbox.user_function import OutOfTime, call_function, describe, line_of, load_function
from skillsv.sandbox.workspace import fresh_workspace, inside

_BLOCK = re.compile(r'<file path="([^"\n]+)">\n(.*?)</file>', re.DOTALL)
_REMOVED = re.compile(r'<remove path="([^"\n]+)"\s*/>')
_LARGEST = 16 * 1024 * 1024
_ANSWER_TOKENS = 32_768


def make_editor(spec: str, options: AgentOptions) -> Editor:
    """The editor that a specification names: `command:PROGRAM ...`, `python:FILE.py:name`, or a model.

    A model is asked on the server of `options`, without tools. Texts that end an agent's answer do not end a file.
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
        """What the folder holds when the program has ended. A non-zero exit is a failure, not an edit."""
        async with fresh_workspace(Task(id="refine", input=instruction)) as top:
            folder = top / "skill"
            _write(files, folder)
            env = private_environment(top, self._options.forward_env) | {"SKILLSV_SKILL": str(folder)}
            limits = Limits(seconds=self._options.timeout, output_bytes=self._options.output_bytes)
            name = Path(self._argv[0]).name
            try:
                done = await run_program(self._argv, cwd=folder, env=env, stdin=instruction.encode(), limits=limits)
            except OSError as error:
                raise AgentFailure(f"{name} cannot be started: {error.strerror}.") from error
            if done.timed_out:
                raise AgentFailure(f"{name} did not end within {self._options.timeout:g} s.", kind=FailureKind.TIMEOUT)
            if done.code:
                said = done.stderr.decode("utf-8", errors="replace").strip().splitlines()[-1:]
                raise AgentFailure(
                    f"{name} ended with exit code {done.code}{': ' if said else ''}{''.join(said)[:300]}"
                )
            return _read(folder)


class PythonEditor:
    """Calls `name(files, instruction)`, plain or `async`, which returns the new files: path to bytes or text."""

    def __init__(self, place: str, options: AgentOptions) -> None:
        self._options = options
        self._user = load_function(place, options.folder)

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """What the function returns."""
        try:
            answer = await call_function(self._user.function, (dict(files), instruction), self._options.timeout)
        except OutOfTime:
            raise AgentFailure(f"{self._user.name} did not return in time.", kind=FailureKind.TIMEOUT) from None
        except (Exception, SystemExit) as error:  # the edge to the user's code: a crash becomes one sentence
            place = f"{self._user.file.name}:{line_of(error, self._user.file)}"
            raise AgentFailure(f"{place}: {describe(error)}") from error
        return _files(answer, self._user.name)


class AgentEditor:
    """Asks an agent for the new files as text: `<file path="SKILL.md">` ... `</file>`, `<remove path="x.md"/>`."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def edit(self, files: dict[str, bytes], instruction: str) -> dict[str, bytes]:
        """The files with what the answer replaces and removes; a file that is not mentioned stays."""
        shown = "\n".join(f'<file path="{path}">\n{text}</file>' for path, text in _texts(files).items())
        task = Task(id="refine", input=f"{instruction}\n\n# The skill\n\n{shown}\n\n{_FORM}")
        async with fresh_workspace(task) as workspace:
            outcome = await self._agent.run(None, task, 0, workspace)
        if outcome.ending is Ending.CUT:
            raise AgentFailure("the token limit cut the editor's answer.", kind=FailureKind.CUT_ANSWER)
        blocks = {path: text.encode() for path, text in _BLOCK.findall(outcome.answer)}
        gone = set(_REMOVED.findall(outcome.answer))
        if not blocks and not gone:
            raise AgentFailure("the editor's answer holds no file.", kind=FailureKind.BAD_OUTPUT)
        return {path: data for path, data in {**files, **blocks}.items() if path not in gone}


_FORM = (
    'Answer with every file that you change, whole, between <file path="..."> and </file> on lines of their own, and '
    '<remove path="..."/> for a file that goes. A file that you do not mention stays as it is.'
)


def _texts(files: Mapping[str, bytes]) -> dict[str, str]:
    found = {}
    for path, data in files.items():
        try:
            found[path] = data.decode()
        except UnicodeDecodeError:
            continue
    return found


def _files(answer: Any, name: str) -> dict[str, bytes]:
    """Files as bytes. Anything else that a function may return is said in words."""
    if not isinstance(answer, Mapping):
        raise AgentFailure(
            f"{name} returned {type(answer).__name__} instead of files (path to bytes).", kind=FailureKind.BAD_OUTPUT
        )
    found: dict[str, bytes] = {}
    for path, data in answer.items():
        if not isinstance(path, str) or not isinstance(data, (bytes, str)):
            raise AgentFailure(f"{name} returned a file that is no bytes: {path!r}.", kind=FailureKind.BAD_OUTPUT)
        found[path] = data.encode() if isinstance(data, str) else data
    return found


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        place = folder / inside(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _read(folder: Path) -> dict[str, bytes]:
    """Every regular file below the folder; links are not followed, so nothing outside comes in."""
    if not folder.is_dir() or folder.is_symlink():
        return {}
    found: dict[str, bytes] = {}
    room = _LARGEST
    for place in sorted(folder.rglob("*")):
        if place.is_symlink() or not place.is_file() or not place.resolve().is_relative_to(folder):
            continue
        room -= place.stat().st_size
        if room < 0:
            raise AgentFailure("the edited skill is larger than 16 MB.", kind=FailureKind.BAD_OUTPUT)
        found[place.relative_to(folder).as_posix()] = place.read_bytes()
    return found


# What an editor is told: the paper's instruction, the report unit by unit, and what was wrong with an earlier try.

PROMPT = "editor_prompt.md"


def editor_instruction(valuation: Valuation, complaints: Sequence[str] = ()) -> str:
    """The instruction with the report, in points; `complaints` name what an earlier try got wrong."""
    parts = [files("skillsv.agents").joinpath(PROMPT).read_text(encoding="utf-8").rstrip()]
    lift = valuation.estimate.content_lift
    parts.append(f"# The report\n\nThe whole skill lifts the score by {with_bounds(lift)} points.")
    parts.append("\n\n".join(_unit(unit) for unit in valuation.units))
    if complaints:
        wrong = "\n".join(f"- {complaint}" for complaint in complaints)
        parts.append(f"# Your last version was refused\n\n{wrong}\n\nBegin again from the original skill.")
    return "\n\n".join(parts) + "\n"


def _unit(unit: UnitReport) -> str:
    values = [f"net effect {with_bounds(unit.value.net)}"]
    if unit.value.content is not None and unit.value.cost is not None:
        values += [f"content {with_bounds(unit.value.content)}", f"cost {with_bounds(unit.value.cost)}"]
    place = f"{unit.file}, lines {unit.lines.first} to {unit.lines.last}"
    quoted = "\n".join(f"> {line}" for line in unit.text.strip().splitlines()[:12])
    return (
        f"## {unit.id}: {unit.verdict.action}\n\n{place}; {unit.tokens} tokens; {', '.join(values)}.\n"
        f"{unit.verdict.reason}\n\n{quoted}"
    )
