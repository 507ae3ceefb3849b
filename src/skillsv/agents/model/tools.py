"""What the model can do: read, list, search and write files, run Python and shell, open a skill. One table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import msgspec
from msgspec import Meta
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from skillsv.agents.model.working_folder import ToolError, WorkingFolder
from skillsv.agents.options import ChatOptions
from skillsv.sandbox.bubblewrap import run_sandboxed
from skillsv.sandbox.process import Completed, private_environment, run_program

_LONGEST = 20_000
_MOST_FILES = 500
_MOST_MATCHES = 100
_LONGEST_LINE = 300


class ListFiles(msgspec.Struct):
    """List the files below a folder, with their sizes in bytes."""

    folder: Annotated[str, Meta(description="relative path; the working folder if left out")] = "."


class ReadFile(msgspec.Struct):
    """Read a text file."""

    path: Annotated[str, Meta(description="relative path of the file")]
    first_line: Annotated[int, Meta(description="where to begin", ge=1)] = 1
    lines: Annotated[int, Meta(description="how many lines to read", ge=1)] = 400


class SearchFiles(msgspec.Struct):
    """Find the lines that hold a text, in all files below a folder. Upper and lower case are the same."""

    text: Annotated[str, Meta(description="the text to look for", min_length=1)]
    folder: Annotated[str, Meta(description="relative path; the working folder if left out")] = "."


class WriteFile(msgspec.Struct):
    """Write a text file; what was in it is replaced."""

    path: Annotated[str, Meta(description="relative path of the file")]
    text: Annotated[str, Meta(description="all of its new text")]


class RunPython(msgspec.Struct):
    """Run a Python program in the working folder, without network. Returns what it prints."""

    code: Annotated[str, Meta(description="the program")]


class RunShell(msgspec.Struct):
    """Run a shell command in the working folder, without network. Returns what it prints."""

    command: Annotated[str, Meta(description="the command line, for sh")]


class OpenSkill(msgspec.Struct):
    """Open a skill: returns its instructions."""

    name: Annotated[str, Meta(description="the name of the skill")]


async def _list(desk: WorkingFolder, wanted: ListFiles) -> str:
    return await anyio.to_thread.run_sync(_listing, desk, wanted)


def _listing(desk: WorkingFolder, wanted: ListFiles) -> str:
    folder = desk.find(wanted.folder)
    if not folder.is_dir():
        raise ToolError(f"{wanted.folder} is not a folder.")
    found = [f"{desk.shown(path)} ({_size(path)})" for path in desk.files(folder)]
    more = [f"... and {len(found) - _MOST_FILES} more"] if len(found) > _MOST_FILES else []
    return "\n".join([*found[:_MOST_FILES], *more]) or "no files"


def _size(path: Path) -> str:
    try:
        return str(path.lstat().st_size)
    except OSError:  # a path too long to ask about
        return "?"


async def _read(desk: WorkingFolder, wanted: ReadFile) -> str:
    text = await anyio.to_thread.run_sync(desk.read, desk.find(wanted.path))
    lines = text.splitlines(keepends=True)
    return "".join(lines[wanted.first_line - 1 : wanted.first_line - 1 + wanted.lines])


async def _search(desk: WorkingFolder, wanted: SearchFiles) -> str:
    return await anyio.to_thread.run_sync(_matches, desk, wanted)


def _matches(desk: WorkingFolder, wanted: SearchFiles) -> str:
    needle = wanted.text.casefold()
    found: list[str] = []
    for path in desk.files(desk.find(wanted.folder)):
        opened = desk.opened
        before = len(found)
        for number, line in enumerate(_text_of(desk, path).splitlines(), 1):
            if needle in line.casefold():
                found.append(f"{desk.shown(path)}:{number}: {line[:_LONGEST_LINE]}")
        if len(found) == before:
            desk.opened = opened  # a file that showed the model nothing was not looked at
        if len(found) >= _MOST_MATCHES:
            break
    return "\n".join(found[:_MOST_MATCHES]) or "nothing found"


def _text_of(desk: WorkingFolder, path: Path) -> str:
    """What can be searched in a file: nothing in a pipe, or where it may not be read."""
    try:
        return desk.read(path)
    except ToolError:
        return ""


async def _write(desk: WorkingFolder, wanted: WriteFile) -> str:
    await anyio.to_thread.run_sync(desk.write, desk.find(wanted.path), wanted.text)
    return f"wrote {wanted.path}"


async def _python(desk: WorkingFolder, wanted: RunPython) -> str:
    desk.mention(wanted.code)
    return await _run(desk, ["python3", "-"], wanted.code)


async def _shell(desk: WorkingFolder, wanted: RunShell) -> str:
    desk.mention(wanted.command)
    return await _run(desk, ["sh", "-s"], wanted.command)


async def _run(desk: WorkingFolder, argv: Sequence[str], program: str) -> str:
    """Run a program that comes on stdin, sandboxed unless the user said otherwise."""
    text = program.encode("utf-8", errors="replace")
    if desk.sandbox:
        return _told(await run_sandboxed(argv, workspace=desk.folder, limits=desk.limits, stdin=text), desk)
    env = private_environment(desk.folder)
    return _told(await run_program(argv, cwd=desk.folder, env=env, limits=desk.limits, stdin=text), desk)


def _told(done: Completed, desk: WorkingFolder) -> str:
    """How a program ended, as the model reads it."""
    parts = [done.stdout.decode("utf-8", errors="replace"), done.stderr.decode("utf-8", errors="replace")]
    if done.timed_out:
        parts.append(f"[stopped after {desk.limits.seconds:g} s]")
    elif done.code != 0:
        parts.append(f"[exit code {done.code}]")
    return "\n".join(part.rstrip("\n") for part in parts if part.strip()) or "[no output]"


async def _open(desk: WorkingFolder, wanted: OpenSkill) -> str:
    if desk.skill is None:
        raise ToolError(f"there is no skill {wanted.name}.")
    desk.opened = True
    where = f"\n\nFiles of this skill are in {desk.place}." if desk.place else ""
    return f"{desk.skill.text}{where}"


Handler = Callable[[WorkingFolder, Any], Awaitable[str]]

FILE_TOOLS: Mapping[str, tuple[type[msgspec.Struct], Handler]] = {
    "list_files": (ListFiles, _list),
    "read_file": (ReadFile, _read),
    "search_files": (SearchFiles, _search),
    "write_file": (WriteFile, _write),
}
PROGRAM_TOOLS: Mapping[str, tuple[type[msgspec.Struct], Handler]] = {
    "run_python": (RunPython, _python),
    "run_shell": (RunShell, _shell),
}
SKILL_TOOLS: Mapping[str, tuple[type[msgspec.Struct], Handler]] = {"open_skill": (OpenSkill, _open)}


class Tools:
    """The tools of one rollout: the same for every partial skill, but that only a skill on disk can be opened."""

    def __init__(self, options: ChatOptions, *, skill: bool) -> None:
        self._table = {
            **(FILE_TOOLS if options.tools != "none" else {}),
            **(PROGRAM_TOOLS if options.tools == "all" else {}),
            **(SKILL_TOOLS if skill and options.deliver == "files" else {}),
        }

    @property
    def definitions(self) -> list[ToolDefinition]:
        """The tools as the provider is told of them."""
        return [_definition(name, arguments) for name, (arguments, _) in self._table.items()]

    async def call(self, desk: WorkingFolder, call: ToolCallPart) -> str:
        """Do what the model asks, and answer it in words; broken arguments and unknown tools are answered, too."""
        if call.tool_name not in self._table:
            return f"error: there is no tool {call.tool_name}. There are: {', '.join(self._table) or 'none'}."
        arguments, handler = self._table[call.tool_name]
        try:
            wanted = msgspec.json.decode(call.args_as_json_str(), type=arguments)
        except (msgspec.DecodeError, ValueError) as error:
            return f"error: the arguments of {call.tool_name} cannot be read: {error}."
        try:
            answer = sendable(await handler(desk, wanted))
        except ToolError as trouble:
            return sendable(f"error: {trouble}")
        return answer if len(answer) <= _LONGEST else f"{answer[:_LONGEST]}\n[{len(answer) - _LONGEST} more characters]"


def sendable(text: str) -> str:
    """The text with a question mark for every half of a character: file names that are no UTF-8, broken escapes."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _definition(name: str, arguments: type[msgspec.Struct]) -> ToolDefinition:
    _, components = msgspec.json.schema_components([arguments])
    schema = {
        key: value for key, value in components[arguments.__name__].items() if key not in {"title", "description"}
    }
    return ToolDefinition(name=name, description=arguments.__doc__, parameters_json_schema=schema)
