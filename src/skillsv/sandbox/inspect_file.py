"""Loads an Inspect AI task of the user from a specification such as `FILE.py@task?name=value`."""

from __future__ import annotations

import contextlib
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from skillsv.errors import SettingsError
from skillsv.sandbox.covered_files import FileWatch
from skillsv.sandbox.user_function import UserFunction, describe, line_of, load_function

if TYPE_CHECKING:
    from inspect_ai import Task as InspectTask


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedInspectTask:
    """An Inspect task. `model` comes from the specification, `digest` and `watch` cover the file and its imports."""

    task: InspectTask
    name: str
    file: Path
    model: str | None
    arguments: Mapping[str, Any]
    digest: str
    watch: FileWatch


def require_inspect() -> None:
    """Raises SettingsError if the package inspect-ai is not installed."""
    if find_spec("inspect_ai") is None:
        raise SettingsError(
            "Tasks of Inspect AI need the package inspect-ai.", hint="Install it: pip install 'skillsv[inspect]'."
        )


def load_inspect_task(spec: str, folder: Path) -> LoadedInspectTask:
    """Load `FILE.py@task`, the file relative to `folder`; `?model=NAME&argument=value` may follow.

    While it is loaded, the current folder is the folder of the file, as with `inspect eval`. Raises SettingsError.
    """
    require_inspect()
    location, _, query = spec.partition("?")
    file_name, at, name = location.rpartition("@")
    if not at or not file_name or not name.isidentifier():
        raise SettingsError(
            f"`inspect:{spec}` does not name a task.",
            hint="Write inspect:FILE.py@task, for instance inspect:evals/sky.py@sky?model=openai/NAME.",
        )
    arguments = _parse_arguments(query)
    model = arguments.pop("model", None)
    file = (folder / file_name).expanduser().resolve()
    with _change_folder(file.parent):
        user = load_function(f"{file}:{name}", folder)
        task = _make_task(user, arguments)
    return LoadedInspectTask(
        task=task,
        name=name,
        file=user.file,
        model=None if model is None else str(model),
        arguments=arguments,
        digest=user.digest,
        watch=user.watch,
    )


def _parse_arguments(query: str) -> dict[str, Any]:
    """Arguments as `inspect eval -T name=value` reads them: numbers, true, false, or text."""
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        return {name: value if name == "model" else yaml.safe_load(value) for name, value in pairs}
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise SettingsError(
            f"`?{query}` cannot be read: {' '.join(str(error).split())}.", hint="Write ?model=NAME&argument=value."
        ) from error


@contextlib.contextmanager
def _change_folder(folder: Path) -> Iterator[None]:
    """Make `folder` the current folder if it exists. The loader reports a missing folder."""
    with contextlib.chdir(folder) if folder.is_dir() else contextlib.nullcontext():
        yield


def _make_task(user: UserFunction, arguments: Mapping[str, Any]) -> InspectTask:
    from inspect_ai import Task as InspectTask
    from inspect_ai._eval.task.constants import TASK_FILE_ATTR, TASK_RUN_DIR_ATTR
    from inspect_ai._util.dotenv import init_dotenv

    init_dotenv()  # reads a .env file, which may define keys and INSPECT_EVAL_MODEL
    try:
        task = user.function(**arguments)
    except (Exception, SystemExit) as error:  # the user's function may raise anything
        where = f"{user.file.name}:{line_of(error, user.file)}"
        raise SettingsError(f"Making the task failed: {describe_inspect_error(error)}.", where=where) from error
    if not isinstance(task, InspectTask):
        raise SettingsError(
            f"`{user.name}` makes {type(task).__name__}, no task of Inspect.",
            where=user.file.name,
            hint="Name a function under @task that returns a Task.",
        )
    setattr(task, TASK_FILE_ATTR, user.file.as_posix())
    setattr(task, TASK_RUN_DIR_ATTR, user.file.parent.as_posix())
    return task


def describe_inspect_error(error: BaseException) -> str:
    """The message of an Inspect error in one line, without the terminal markup that some of them have."""
    from rich.errors import MarkupError
    from rich.text import Text

    message = describe(error)
    with contextlib.suppress(MarkupError):
        message = Text.from_markup(message).plain
    return message.removeprefix("PrerequisiteError: ").removeprefix("ERROR: ").rstrip(".")
