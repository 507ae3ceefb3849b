"""Functions of the user: how they are found, and how they are called with a time limit."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import anyio
import pytest

from skillsv.errors import SettingsError
from skillsv.sandbox.user_function import FunctionTimeout, GivenFunction, call_function, find_function, load_function


def write(folder, text: str, name: str = "agent.py"):
    (folder / name).write_text(textwrap.dedent(text))


def test_function_is_found_by_file_and_name(tmp_path):
    write(tmp_path, "def run(x):\n    return x + 1\n")
    assert load_function("agent.py:run", tmp_path).function(1) == 2


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("none.py:run", "There is no such file"),
        ("agent.py:walk", "has no `walk`. It has: run."),
        ("agent.py:SIZE", "`SIZE` is int, which cannot be called"),
        ("agent.py", "does not name a function"),
        ("agent.py:", "does not name a function"),
        (":run", "does not name a function"),
        ("agent.py:not a name", "does not name a function"),
        ("agent.txt:run", "not a Python file"),
    ],
)
def test_function_that_does_not_exist_is_reported(tmp_path, place, sentence):
    write(tmp_path, "SIZE = 3\ndef run(x):\n    return x\n")
    write(tmp_path, "def run(x): pass", "agent.txt")
    with pytest.raises(SettingsError) as caught:
        load_function(place, tmp_path)
    assert sentence in str(caught.value)


def test_find_function_does_not_execute_the_file(tmp_path):
    write(tmp_path, "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef run(x): return x\n")
    user = find_function("agent.py:run", tmp_path)
    assert not (tmp_path / "ran").exists()
    assert user.digest == load_function("agent.py:run", tmp_path).digest
    assert user.function(3) == 3
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text",
    ["from os.path import *\n", "globals()['join'] = len\n", "from os.path import join\n", "join = len\n",
     "try:\n    import nowhere\nexcept ImportError:\n    def join(x): return x\n"],
)  # fmt: skip
def test_name_defined_in_any_way_is_found(tmp_path, text):
    write(tmp_path, text)
    assert callable(load_function("agent.py:join", tmp_path).function)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\nraise ValueError('broken')\n", "agent.py:2: Loading it failed: ValueError: broken."),
        ("def run(:\n", "agent.py:1: Loading it failed: SyntaxError"),
        ("import nowhere_to_be_found\n", "ModuleNotFoundError"),
        ("import sys\nsys.exit(4)\n", "agent.py:2: Loading it failed: SystemExit: 4."),
    ],
)
def test_error_while_loading_a_file_names_the_line(tmp_path, text, sentence):
    write(tmp_path, f"{text}\ndef run(x): return x\n")
    with pytest.raises(SettingsError) as caught:
        load_function("agent.py:run", tmp_path)
    assert sentence in str(caught.value)


def test_digest_covers_the_file_and_its_imports_from_the_same_folder(tmp_path):
    write(tmp_path, "import helper_for_digest\ndef run(x): return x\ndef other(x): return x\n")
    write(tmp_path, "from package_for_digest import part\n", "helper_for_digest.py")
    (tmp_path / "package_for_digest").mkdir()
    write(tmp_path, "", "package_for_digest/__init__.py")
    write(tmp_path, "A = 1\n", "package_for_digest/part.py")
    write(tmp_path, "A = 1\n", "unrelated.py")
    digests = [load_function("agent.py:run", tmp_path).digest, load_function("agent.py:run", tmp_path).digest]
    write(tmp_path, "A = 2\n", "unrelated.py")
    digests.append(load_function("agent.py:run", tmp_path).digest)
    assert len(set(digests)) == 1
    digests.append(load_function("agent.py:other", tmp_path).digest)
    write(tmp_path, "A = 2\n", "package_for_digest/part.py")
    digests.append(load_function("agent.py:run", tmp_path).digest)
    write(tmp_path, "import helper_for_digest\ndef run(x): return -x\n")
    digests.append(load_function("agent.py:run", tmp_path).digest)
    assert len(set(digests)) == 4


class Doubler:
    """A callable object whose call is a coroutine."""

    async def __call__(self, x):
        return 2 * x


def test_results_of_plain_and_async_functions_are_returned():
    async def double(x):
        return 2 * x

    assert anyio.run(call_function, lambda x: x + 1, (1,), 10.0) == 2
    assert anyio.run(call_function, double, (4,), 10.0) == 8
    assert anyio.run(call_function, Doubler(), (5,), None) == 10


def test_plain_functions_run_concurrently():
    together = threading.Barrier(50, timeout=30)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(call_function, together.wait, (), 30.0)

    anyio.run(main)
    assert not together.broken


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), TimeoutError("its own")])
def test_exceptions_are_raised_unchanged(error):
    def plain():
        raise error

    async def coroutine():
        raise error

    for function in (plain, coroutine):
        with pytest.raises(type(error)):
            anyio.run(call_function, function, (), 10.0)


def test_function_over_its_time_limit_raises_a_timeout():
    stopped = threading.Event()

    async def hangs():
        await anyio.sleep_forever()

    with pytest.raises(FunctionTimeout):
        anyio.run(call_function, hangs, (), 0.05)
    with pytest.raises(FunctionTimeout):
        anyio.run(call_function, stopped.wait, (), 0.05)
    stopped.set()


def test_process_ends_although_a_function_hangs():
    code = f"""
import threading, anyio
from skillsv.sandbox.user_function import {FunctionTimeout.__name__}, call_function
async def main():
    try:
        await call_function(threading.Event().wait, (), 0.05)
    except {FunctionTimeout.__name__}:
        print("timeout")
anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "timeout\n"


def test_digest_of_a_function_without_source_is_the_same_in_every_process():
    code = """
from skillsv.sandbox.user_function import GivenFunction
names = {}
exec("def f(skill, task):\\n    ask = lambda word: word in {'red', 'green', 'blue'}\\n    return ask(task)", names)
print(GivenFunction(names["f"]).digest)
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(digests) == 1


def test_digest_of_a_function_without_source_covers_nested_functions():
    digests = set()
    for word in ("red", "green"):
        names = {}
        exec(f"def f(skill, task):\n    ask = lambda word: word == {word!r}\n    return ask(task)", names)
        digests.add(GivenFunction(names["f"]).digest)
    assert len(digests) == 2
