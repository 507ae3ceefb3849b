"""Containers of docker and podman: the command line, what ends, and a run of a stand-in that starts no container."""

import os
import subprocess
import sys

import anyio
import pytest

from skillsv.cli import run
from skillsv.errors import RolloutError, SettingsError
from skillsv.sandbox.bubblewrap import find_sandbox_problem, run_sandboxed
from skillsv.sandbox.containers import (
    DEFAULT_IMAGE,
    PROGRAMS,
    container_command,
    find_container_problem,
    split_container,
)
from skillsv.sandbox.process import Limits
from skillsv.sandbox.sandbox_options import SANDBOX_LIMITS, SandboxOptions

STAND_IN = f"""#!{sys.executable} -I
import json, os, sys
words = sys.argv[1:]
with open({{log!r}}, "a") as log:
    log.write(json.dumps([words, dict(os.environ)]) + "\\n")
if words[0] == "rm":
    sys.exit(0)
if {{code}}:
    print("Cannot connect to the service.", file=sys.stderr)
    sys.exit({{code}})
image = words.index({DEFAULT_IMAGE!r})
os.execvp(words[image + 1], words[image + 1:])
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program `docker` that writes down its command line and runs the program without a container."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def make(name="docker", code=0):
        (folder / name).write_text(STAND_IN.format(log=str(tmp_path / "log"), code=code))
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        find_sandbox_problem.cache_clear()
        find_container_problem.cache_clear()
        return tmp_path / "log"

    yield make
    find_sandbox_problem.cache_clear()
    find_container_problem.cache_clear()


def command(container="docker", limits=SANDBOX_LIMITS, **options):
    from pathlib import Path

    return container_command(["prog", "a b"], Path("/w"), limits, SandboxOptions(container=container, **options), "n")


def after(words, flag):
    return [words[place + 1] for place, word in enumerate(words) if word == flag]


@pytest.mark.parametrize("program", PROGRAMS)
def test_container_has_no_network_no_rights_and_all_limits(program):
    words = command(program)
    assert words[:2] == [program, "run"]
    assert words[-3:] == [DEFAULT_IMAGE, "prog", "a b"]
    assert after(words, "--network") == ["none"]
    assert after(words, "--pull") == ["never"]
    assert after(words, "--cap-drop") == ["ALL"]
    assert "no-new-privileges" in after(words, "--security-opt")
    assert {"--read-only", "--rm"} <= set(words)
    assert after(words, "--memory") == after(words, "--memory-swap") == [str(SANDBOX_LIMITS.memory_bytes)]
    assert after(words, "--pids-limit") == ["64"]
    assert after(words, "--ulimit") == [f"fsize={SANDBOX_LIMITS.file_bytes}:{SANDBOX_LIMITS.file_bytes}"]
    assert after(words, "--volume") == ["/w:/task:rw"]
    assert after(words, "--user") != ["0:0"]
    assert "--privileged" not in words


def test_values_of_variables_are_not_in_the_command_line():
    words = command(variables={"MY_KEY": "hidden-value", "HOME": "/h", "PATH": "/p"})
    assert after(words, "--env") == ["HOME=/h", "MY_KEY"]
    assert not any("hidden-value" in word for word in words)


def test_network_image_and_read_only_files(tmp_path):
    words = command("podman:my/image@sha256:1", network=True, read_only=(tmp_path,))
    assert after(words, "--network") == ["bridge"]
    assert "my/image@sha256:1" in words
    assert after(words, "--volume") == [f"{tmp_path}:{tmp_path}:ro", "/w:/task:rw"]
    with pytest.raises(SettingsError, match="its name has a colon"):
        command(read_only=(tmp_path / "a:b",))
    with pytest.raises(SettingsError, match="is not a container program"):
        split_container("chroot")


def sandboxed(tmp_path, argv, **limits):
    workspace = tmp_path / "w"
    workspace.mkdir()
    options = SandboxOptions(container="docker", variables={"WORD": "alpha"})
    return anyio.run(
        lambda: run_sandboxed(argv, workspace=workspace, limits=Limits(**limits), options=options, stdin=b"in")
    )


def test_program_runs_by_the_container_program(tmp_path, stand_in):
    log = stand_in()
    done = sandboxed(tmp_path, ["sh", "-c", "cat; echo $WORD"])
    assert (done.code, done.stdout) == (0, b"inalpha\n")
    assert find_sandbox_problem(container="docker") is None
    assert '"rm"' not in log.read_text(), "a container that ended is removed by --rm"


@pytest.mark.parametrize(("argv", "limits"), [(["sleep", "60"], {"seconds": 0.5}), (["false"], {})])
def test_container_of_a_failed_or_slow_program_is_removed(tmp_path, stand_in, argv, limits):
    log = stand_in()
    assert sandboxed(tmp_path, argv, grace=0.1, **limits).code != 0
    assert '"rm", "--force", "skillsv-' in log.read_text()


def test_service_that_does_not_answer_is_a_failure_of_the_sandbox(tmp_path, stand_in):
    stand_in(code=125)
    with pytest.raises(RolloutError, match=r"docker does not start the image .* \(Cannot connect to the service\.\)"):
        sandboxed(tmp_path, ["true"])


def test_missing_program_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    find_container_problem.cache_clear()
    assert find_container_problem("podman") == "the program `podman` is not installed."
    find_container_problem.cache_clear()


def test_doctor_says_which_sandbox_works(stand_in, capsys):
    stand_in()
    assert run(["doctor", "--sandbox", "docker"]) == 0
    assert "docker starts a program in" in capsys.readouterr().out
    stand_in(code=125)
    assert run(["doctor", "--sandbox", "docker"]) == 0
    assert "NO  sandbox" in capsys.readouterr().out
    assert run(["doctor", "--sandbox", "none"]) == 0
    assert "switched off" in capsys.readouterr().out


@pytest.mark.parametrize("program", PROGRAMS)
def test_real_container_shows_no_file_of_the_user(tmp_path, program):
    if problem := find_container_problem(program):
        pytest.skip(problem)
    workspace = tmp_path / "w"
    workspace.mkdir()
    options = SandboxOptions(container=program)
    argv = ["sh", "-c", f"echo x > out.txt; ls {tmp_path} || echo hidden"]
    done = anyio.run(lambda: run_sandboxed(argv, workspace=workspace, limits=SANDBOX_LIMITS, options=options))
    assert (done.stdout, (workspace / "out.txt").read_text()) == (b"hidden\n", "x\n")
    left = subprocess.run(
        [program, "ps", "--all", "--quiet", "--filter", "name=skillsv-"], capture_output=True, check=False
    )
    assert left.stdout == b""
