"""A function of the user: found in `FILE.py:name`, called with a time limit, whether plain or `async`."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import contextvars
import hashlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import anyio

from skillsv.errors import SettingsError
from skillsv.sandbox.sources import digest_files, python_sources


class UserFunction:
    """A function of the user's. Its file is read when it is found, and run when `function` is first asked for.

    `digest` covers its name, its file and the files beside it that it imports.
    """

    def __init__(self, *, file: Path, name: str) -> None:
        self.file = file
        self.name = name
        self.digest = digest_files([name], python_sources(file))
        self._function: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function; the first call runs the file. Raises SettingsError where that fails or gives no function."""
        if self._function is None:
            module = _load(self.file)
            found = getattr(module, self.name, None)
            if found is None:
                raise SettingsError(f"The file has no `{self.name}`.", where=self.file.name, hint=_known(module))
            if not callable(found):
                kind = type(found).__name__
                raise SettingsError(f"`{self.name}` is {kind}, which cannot be called.", where=self.file.name)
            self._function = found
        return self._function


@runtime_checkable
class UserCode(Protocol):
    """An agent or a verifier with code of the user's, which runs only after the user has agreed to the forecast."""

    def load(self) -> None:
        """Run the files that define it, so that what is wrong with them is found before anything is spent."""


def load_code(*parts: object) -> None:
    """Load the user's code behind agents and verifiers. Raises SettingsError or TaskError where that fails."""
    for part in parts:
        if isinstance(part, UserCode):
            part.load()


def load_function(place: str, folder: Path) -> UserFunction:
    """Find `FILE.py:name` and run its file, relative to `folder`. Raises SettingsError where there is none."""
    user = find_function(place, folder)
    _ = user.function
    return user


def find_function(place: str, folder: Path) -> UserFunction:
    """Find `FILE.py:name`, the file relative to `folder`, by reading it alone: nothing of it is run.

    Raises SettingsError where the file is missing, is not Python, or never mentions the name as one of its own.
    """
    file_name, colon, name = place.rpartition(":")
    if not colon or not file_name or not name.isidentifier():
        raise SettingsError(
            f"`{place}` does not name a function.", hint="Write FILE.py:name, for instance agent.py:run."
        )
    file = (folder / file_name).expanduser()
    if not file.is_file():
        raise SettingsError("There is no such file.", where=str(file), hint=f"It was named in `{place}`.")
    file = file.resolve()
    if file.suffix != ".py":
        raise SettingsError("This is not a Python file.", where=str(file), hint="Its name must end in .py.")
    _check_name(file, name)
    return UserFunction(file=file, name=name)


def _check_name(file: Path, name: str) -> None:
    """Refuse a file that cannot be parsed, or that binds the name nowhere and imports nothing wholesale."""
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        where = f"{file.name}:{line_of(error, file)}"
        raise SettingsError(f"Loading it failed: {describe(error)}.", where=where) from error
    if not _BOUND_AT_RUN_TIME & (names := set(_names(tree))) and name not in names:
        own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        raise SettingsError(f"The file has no `{name}`.", where=file.name, hint=_in_words(own))


_BOUND_AT_RUN_TIME = {"*", "globals", "vars", "exec", "setattr", "__getattr__"}
"""A file with one of these names may define more than can be read from it."""


def _names(tree: ast.Module) -> Iterator[str]:
    """Every name in the file: defined, imported or used."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name
            case ast.Name(id=name):
                yield name
            case _:
                pass


def _load(file: Path) -> ModuleType:
    """Run the file as a module of its own; files beside it can be imported from it."""
    module_name = f"skillsv_user_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise SettingsError("This is not a Python file.", where=str(file), hint="Its name must end in .py.")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the user's file does while it is loaded
        del sys.modules[module_name]
        raise SettingsError(
            f"Loading it failed: {describe(error)}.", where=f"{file.name}:{line_of(error, file)}"
        ) from error
    return module


def _known(module: ModuleType) -> str:
    found = vars(module).items()
    return _in_words(name for name, value in found if inspect.isfunction(value) and value.__module__ == module.__name__)


def _in_words(functions: Iterable[str]) -> str:
    names = sorted(name for name in functions if not name.startswith("_"))
    return f"It has: {', '.join(names)}." if names else "It defines no functions."


def describe(error: BaseException) -> str:
    """An exception in one line: its type and its message."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def line_of(error: BaseException, file: Path) -> int:
    """The last line of `file` that an exception passed through; 1 if none."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class OutOfTime(Exception):
    """The function took longer than it may."""


async def call_function(function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float | None) -> Any:
    """Call it and wait for its result at most `seconds`: coroutines here, plain functions in a thread.

    A coroutine is cancelled when its time is up (OutOfTime). A plain function cannot be stopped; it is left to itself
    in a daemon thread, which ends with the process.
    """
    with anyio.move_on_after(seconds) as scope:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        result = await _in_thread(function, arguments)
        return await result if inspect.isawaitable(result) else result
    assert scope.cancelled_caught
    raise OutOfTime


async def _in_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The function's result or exception, from a daemon thread of its own.

    anyio's worker threads would keep the whole process from exiting while an abandoned function hangs.
    """
    done = anyio.Event()
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    result: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            result.append(context.run(function, *arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - handed to the waiting side, which raises it again
            raised.append(error)
        with contextlib.suppress(RuntimeError):  # nobody waits any more: the loop is closed
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=work, name="skillsv-user-function", daemon=True).start()
    await done.wait()
    if raised:
        raise raised[0]
    return result[0]
