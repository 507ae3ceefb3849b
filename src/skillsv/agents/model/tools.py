"""The tools of a model agent: list, read, search and write files, run Python and shell, open a skill."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import msgspec
from msgspec import Meta
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from skillsv.agents.model.working_folder import ToolError, WorkingFolder
from skillsv.agents.options import ChatOptions
from skillsv.sandbox.bubblewrap import run_sandboxed
from skillsv.sandbox.process import ProgramResult, private_environment, run_program
from skillsv.sandbox.sandbox_options import SandboxOptions

_MAX_RESULT_CHARS = 20_000
"""Longest result of a tool call; a longer one would fill the context of the model."""

_MAX_FILES = 500
"""Files that `list_files` names."""

_MAX_MATCHES = 100
"""Lines that `search_files` returns."""

_MAX_LINE_CHARS = 300
"""Longest part of a matching line that `search_files` returns."""


# Arguments of the tools. The model reads these docstrings and descriptions: after a change, raise `prompt.VERSION`.


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


async def _list(folder: WorkingFolder, arguments: ListFiles) -> str:
    top = folder.resolve(arguments.folder)
    if not top.is_dir():
        raise ToolError(f"{arguments.folder} is not a folder.")
    lines, stopped = await _collect(
        folder, (f"{folder.relative_name(path)} ({_size(path)})" for path in folder.files(top))
    )
    more = [f"... and {len(lines) - _MAX_FILES} more"] if len(lines) > _MAX_FILES else []
    return "\n".join([*lines[:_MAX_FILES], *more, *stopped]) or "no files"


async def _collect(folder: WorkingFolder, lines: Iterator[str | None]) -> tuple[list[str], list[str]]:
    """The lines that an iterator yields within the time limit of programs, and a line that says if it was stopped.

    It runs in a thread, which nobody can end from outside: it stops itself after the next line (None: nothing to add)
    when the time is up or the rollout is cancelled.
    """
    found: list[str] = []
    over = threading.Event()

    def work() -> None:
        for line in lines:
            if over.is_set():
                return
            if line is not None:
                found.append(line)

    try:
        with anyio.move_on_after(folder.limits.seconds) as clock:
            await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    finally:
        over.set()
    return list(found), [f"[stopped after {folder.limits.seconds:g} s]"] if clock.cancelled_caught else []


def _size(path: Path) -> str:
    try:
        return str(path.lstat().st_size)
    except OSError:  # the path is too long for the system call
        return "?"


async def _read(folder: WorkingFolder, arguments: ReadFile) -> str:
    text = await anyio.to_thread.run_sync(folder.read, folder.resolve(arguments.path))
    lines = text.splitlines(keepends=True)
    return "".join(lines[arguments.first_line - 1 : arguments.first_line - 1 + arguments.lines])


async def _search(folder: WorkingFolder, arguments: SearchFiles) -> str:
    matches, stopped = await _collect(folder, _find_matches(folder, arguments))
    return "\n".join([*matches[:_MAX_MATCHES], *stopped]) or "nothing found"


def _find_matches(folder: WorkingFolder, arguments: SearchFiles) -> Iterator[str | None]:
    """The matching lines, file by file, and None after each file."""
    text = arguments.text.casefold()
    count = 0
    for path in folder.files(folder.resolve(arguments.folder)):
        opened = folder.opened
        before = count
        for number, line in enumerate(_readable_text(folder, path).splitlines(), 1):
            if text in line.casefold():
                count += 1
                yield f"{folder.relative_name(path)}:{number}: {line[:_MAX_LINE_CHARS]}"
        if count == before:
            folder.opened = opened  # without a match the model saw nothing of this file
        if count >= _MAX_MATCHES:
            return
        yield None


def _readable_text(folder: WorkingFolder, path: Path) -> str:
    """The text of a file; empty for a pipe or a file that cannot be read."""
    try:
        return folder.read(path)
    except ToolError:
        return ""


async def _write(folder: WorkingFolder, arguments: WriteFile) -> str:
    await anyio.to_thread.run_sync(folder.write, folder.resolve(arguments.path), arguments.text)
    return f"wrote {arguments.path}"


async def _python(folder: WorkingFolder, arguments: RunPython) -> str:
    folder.note_program(arguments.code)
    return await _run(folder, ["python3", "-"], arguments.code)


async def _shell(folder: WorkingFolder, arguments: RunShell) -> str:
    folder.note_program(arguments.command)
    return await _run(folder, ["sh", "-s"], arguments.command)


async def _run(folder: WorkingFolder, argv: Sequence[str], program: str) -> str:
    """Run an interpreter with the program on stdin, in the sandbox unless the user switched it off."""
    stdin = program.encode("utf-8", errors="replace")
    if folder.sandbox:
        options = SandboxOptions(container=folder.container)
        done = await run_sandboxed(argv, workspace=folder.path, limits=folder.limits, stdin=stdin, options=options)
    else:
        env = private_environment(folder.path)
        done = await run_program(argv, cwd=folder.path, env=env, limits=folder.limits, stdin=stdin)
    return _describe_result(done, folder)


def _describe_result(done: ProgramResult, folder: WorkingFolder) -> str:
    """Output and exit code of a program, as the model reads them."""
    parts = [done.stdout.decode("utf-8", errors="replace"), done.stderr.decode("utf-8", errors="replace")]
    if done.timed_out:
        parts.append(f"[stopped after {folder.limits.seconds:g} s]")
    elif done.over_quota:
        parts.append(f"[stopped: {done.over_quota}]")
    elif done.code != 0:
        parts.append(f"[exit code {done.code}]")
    return "\n".join(part.rstrip("\n") for part in parts if part.strip()) or "[no output]"


async def _open(folder: WorkingFolder, arguments: OpenSkill) -> str:
    if folder.skill is None:
        raise ToolError(f"there is no skill {arguments.name}.")
    folder.opened = True
    where = f"\n\nFiles of this skill are in {folder.skill_path}." if folder.skill_path else ""
    return f"{folder.skill.text}{where}"


Handler = Callable[[WorkingFolder, Any], Awaitable[str]]
"""Runs one tool with its decoded arguments, and returns its result as text."""

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
    """The tools of one rollout. They are the same for every coalition; `open_skill` needs a skill on disk."""

    def __init__(self, options: ChatOptions, *, skill: bool) -> None:
        self._table = {
            **(FILE_TOOLS if options.tools != "none" else {}),
            **(PROGRAM_TOOLS if options.tools == "all" else {}),
            **(SKILL_TOOLS if skill and options.deliver == "files" else {}),
        }

    @property
    def definitions(self) -> list[ToolDefinition]:
        """The definitions that the provider receives."""
        return [_make_definition(name, arguments) for name, (arguments, _) in self._table.items()]

    async def call(self, folder: WorkingFolder, call: ToolCallPart) -> str:
        """Run one tool call, and return its result. For an unknown tool or broken arguments it is an error message."""
        if call.tool_name not in self._table:
            return f"error: there is no tool {call.tool_name}. There are: {', '.join(self._table) or 'none'}."
        arguments_type, handler = self._table[call.tool_name]
        try:
            arguments = msgspec.json.decode(call.args_as_json_str(), type=arguments_type)
        except (msgspec.DecodeError, ValueError) as error:
            return f"error: the arguments of {call.tool_name} cannot be read: {error}."
        try:
            result = replace_surrogates(await handler(folder, arguments))
        except ToolError as error:
            return replace_surrogates(f"error: {error}")
        more = len(result) - _MAX_RESULT_CHARS
        return f"{result[:_MAX_RESULT_CHARS]}\n[{more} more characters]" if more > 0 else result


def replace_surrogates(text: str) -> str:
    """The text with `?` for every lone surrogate, from file names that are not UTF-8 or from broken escapes in JSON."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _make_definition(name: str, arguments: type[msgspec.Struct]) -> ToolDefinition:
    _, components = msgspec.json.schema_components([arguments])
    schema = {
        key: value for key, value in components[arguments.__name__].items() if key not in {"title", "description"}
    }
    return ToolDefinition(name=name, description=arguments.__doc__, parameters_json_schema=schema)
