"""Finds a function of the user by `FILE.py:name`, and calls it with a time limit, whether plain or `async`."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import contextvars
import functools
import hashlib
import importlib.util
import inspect
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol, runtime_checkable

import anyio

from skillsv.errors import SettingsError
from skillsv.sandbox.captured_prints import capture_prints
from skillsv.sandbox.covered_files import CoveredFiles, FileWatch, python_files
from skillsv.sandbox.sources import digest_words

_RUN_TIME_DEFINITIONS = {"*", "globals", "vars", "exec", "setattr", "__getattr__"}
"""A file that uses one of these names may define functions that cannot be found by reading it."""


class FunctionTimeout(Exception):
    """A function of the user did not return within its time limit."""


class UserFunction:
    """A function of the user. Its file is executed at the first use of `function`.

    `digest` covers its name, its file and the files of the same folder that it imports. `watch` also holds the files
    that only relative imports reach.
    """

    def __init__(self, *, file: Path, name: str) -> None:
        self.file = file
        self.name = name
        self.watch = FileWatch(python_files(file))
        self.digest = digest_words([name], self.watch.basic)
        self._function: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function. The first use executes the file. Raises SettingsError if that fails or defines no function."""
        if self._function is None:
            module = _load(self.file)
            function = getattr(module, self.name, None)
            if function is None:
                raise SettingsError(f"The file has no `{self.name}`.", where=self.file.name, hint=_list_own(module))
            if not callable(function):
                kind = type(function).__name__
                raise SettingsError(f"`{self.name}` is {kind}, which cannot be called.", where=self.file.name)
            self._function = function
        return self._function


class GivenFunction:
    """A function, or another object that can be called, which a Python program passes.

    `digest` covers its name, its source and the `version` that the program gives. It does not cover the functions that
    it calls, the values that it refers to, or files that it reads.
    """

    def __init__(self, function: Callable[..., Any], *, version: str = "") -> None:
        self.function = function
        self.name = _name_of(function)
        self.file = _file_of(function)
        self.watch = FileWatch(CoveredFiles())
        self.digest = digest_words(["given", self.name, version, source_of(function)], [])


def source_of(function: Callable[..., Any]) -> str:
    """The source of a function, of its class, or of what a partial application wraps; else its compiled code."""
    if isinstance(function, functools.partial):
        bound = [repr(value) for value in (function.args, sorted(function.keywords.items()))]
        return " ".join([source_of(function.func), *bound])
    code = _code_holder(function)
    with contextlib.suppress(OSError, TypeError):
        return textwrap.dedent(inspect.getsource(code))
    compiled = getattr(code, "__code__", None)
    return "" if compiled is None else _describe_code(compiled)


def _describe_code(code: CodeType) -> str:
    """Compiled code as text, the same in every process: without addresses in memory and orders of sets."""
    constants = [_describe_constant(value) for value in code.co_consts]
    end = "," if len(constants) == 1 else ""
    return f"{code.co_code.hex()} ({', '.join(constants)}{end}) {code.co_names!r}"


def _describe_constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _describe_code(value)
    return " ".join(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _code_holder(function: Callable[..., Any]) -> Any:
    """The object whose source defines what a call does."""
    if inspect.isroutine(function) or inspect.isclass(function):
        return inspect.unwrap(function)
    return type(function)


def _name_of(function: Callable[..., Any]) -> str:
    if isinstance(function, functools.partial):
        return _name_of(function.func)
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _file_of(function: Callable[..., Any]) -> Path:
    if isinstance(function, functools.partial):
        return _file_of(function.func)
    with contextlib.suppress(TypeError):
        return Path(inspect.getsourcefile(_code_holder(function)) or "python")
    return Path("python")


@runtime_checkable
class UserCode(Protocol):
    """An agent or verifier that executes code of the user, which happens only after the user agreed to the forecast."""

    def load(self) -> None:
        """Execute the files that define it, so that errors in them are found before the first rollout."""


def load_code(*parts: object) -> None:
    """Load the user's code of agents and verifiers. Raises SettingsError or TaskError if that fails.

    What it prints goes to the log of the run, not to stdout.
    """
    for part in parts:
        if isinstance(part, UserCode):
            with capture_prints("while the files were loaded"):
                part.load()


def load_function(location: str, folder: Path) -> UserFunction:
    """Find `FILE.py:name`, relative to `folder`, and execute its file. Raises SettingsError if there is none."""
    user = find_function(location, folder)
    _ = user.function
    return user


def find_function(location: str, folder: Path) -> UserFunction:
    """Find `FILE.py:name`, the file relative to `folder`. The file is read but not executed.

    Raises SettingsError if the file is missing, is not Python, or cannot define the name.
    """
    file_name, colon, name = location.rpartition(":")
    if not colon or not file_name or not name.isidentifier():
        raise SettingsError(
            f"`{location}` does not name a function.", hint="Write FILE.py:name, for instance agent.py:run."
        )
    file = (folder / file_name).expanduser()
    if not file.is_file():
        raise SettingsError("There is no such file.", where=str(file), hint=f"It was named in `{location}`.")
    file = file.resolve()
    if file.suffix != ".py":
        raise SettingsError("This is not a Python file.", where=str(file), hint="Its name must end in .py.")
    _check_name(file, name)
    return UserFunction(file=file, name=name)


async def call_function(function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float | None) -> Any:
    """Call a function, plain or `async`, and wait for its result at most `seconds`.

    After that it raises FunctionTimeout. A coroutine is cancelled. A plain function runs in a daemon thread, which
    cannot be stopped: it continues until it returns or the process ends. `capture_prints` collects what it prints.
    """
    with anyio.move_on_after(seconds) as scope:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        result = await _in_thread(function, arguments)
        return await result if inspect.isawaitable(result) else result
    assert scope.cancelled_caught
    raise FunctionTimeout


def describe(error: BaseException) -> str:
    """An exception in one line: type and message."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def line_of(error: BaseException, file: Path) -> int:
    """The last line of `file` in the traceback of an exception; 1 if there is none."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _check_name(file: Path, name: str) -> None:
    """Refuse a file that cannot be parsed, or that cannot define the name."""
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        where = f"{file.name}:{line_of(error, file)}"
        raise SettingsError(f"Loading it failed: {describe(error)}.", where=where) from error
    names = set(_names(tree))
    if name not in names and not names & _RUN_TIME_DEFINITIONS:
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        raise SettingsError(f"The file has no `{name}`.", where=file.name, hint=_list_functions(functions))


def _names(tree: ast.Module) -> Iterator[str]:
    """Every name in the file that is defined, imported or used."""
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
    """Execute the file as a module of its own. It can import other files of its folder."""
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
    except (Exception, SystemExit) as error:  # the user's file may raise anything
        del sys.modules[module_name]
        raise SettingsError(
            f"Loading it failed: {describe(error)}.", where=f"{file.name}:{line_of(error, file)}"
        ) from error
    return module


def _list_own(module: ModuleType) -> str:
    """A sentence that lists the functions that the module itself defines."""
    functions = [value for value in vars(module).items() if inspect.isfunction(value[1])]
    return _list_functions(name for name, function in functions if function.__module__ == module.__name__)


def _list_functions(functions: Iterable[str]) -> str:
    names = sorted(name for name in functions if not name.startswith("_"))
    return f"It has: {', '.join(names)}." if names else "It defines no functions."


async def _in_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call the function in a daemon thread, and return its result or raise its exception.

    The worker threads of anyio are not daemons: with them, a function that hangs would keep the process from ending.
    """
    done = anyio.Event()
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    result: list[Any] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            result.append(context.run(function, *arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again by the waiting coroutine
            raised.append(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the caller does not wait any more
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=work, name="skillsv-user-function", daemon=True).start()
    await done.wait()
    if raised:
        raise raised[0]
    return result[0]
