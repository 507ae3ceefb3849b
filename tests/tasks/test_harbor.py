"""Harbor task folders: reading them, and scoring by their tests."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from skillsv.errors import TaskError, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv.tasks import ignored_builds, load_tasks, make_verifier

TEST = """#!/bin/bash
mkdir -p /logs/verifier
if diff -q /app/out.txt /tests/expected.txt; then echo 1 > /logs/verifier/reward.txt; else echo 0 > "/logs/verifier/reward.txt"; fi
"""

SANDBOX = find_sandbox_problem() is None
"""Whether this machine has a sandbox. Without one, the tests of tasks run unprotected."""


def harbor(folder: Path, name: str = "copy", test: str | None = TEST) -> Path:
    place = folder / name
    (place / "environment" / "data").mkdir(parents=True)
    (place / "tests").mkdir()
    (place / "solution").mkdir()
    (place / "instruction.md").write_text("Copy the input to out.txt.\n")
    (place / "task.toml").write_text(
        'version = "1.0"\n[metadata]\ncategory = "files"\n[verifier]\ntimeout_sec = 30.0\n'
    )
    (place / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (place / "environment" / "data" / "input.txt").write_text("hello\n")
    (place / "tests" / "expected.txt").write_text("hello\n")
    (place / "solution" / "solve.sh").write_text("cp data/input.txt out.txt\n")
    if test is not None:
        (place / "tests" / "test.sh").write_text(test)
    return place


def score(folder: Path, out: str | None, answer: str = "", *, sandbox: bool = SANDBOX) -> float:
    (task,) = load_tasks(folder)
    verifier = make_verifier([task], folder=folder, default=None, sandbox=sandbox)

    async def main() -> float:
        async with fresh_workspace(task) as workspace:
            assert {path.name for path in workspace.iterdir()} == {"data"}
            if out is not None:
                (workspace / "out.txt").write_text(out)
            return await verifier.score(task, Outcome(answer=answer), workspace)

    return anyio.run(main)


def test_task_has_no_build_files_tests_or_solution(tmp_path):
    (task,) = load_tasks(harbor(tmp_path))
    assert (task.id, task.input, task.stratum) == ("copy", "Copy the input to out.txt.\n", "files")
    assert set(task.files) == {"data/input.txt"}


def test_folders_are_read_in_order_of_name(tmp_path):
    for name in ("zeta", "alpha"):
        harbor(tmp_path, name)
    (tmp_path / "notes").mkdir()
    assert [task.id for task in load_tasks(tmp_path)] == ["alpha", "zeta"]


@pytest.mark.parametrize("sandbox", [False, SANDBOX])
def test_reward_depends_on_the_workspace(tmp_path, sandbox):
    place = harbor(tmp_path)
    assert score(place, "hello\n", sandbox=sandbox) == 1.0
    assert score(place, "goodbye\n", sandbox=sandbox) == 0.0
    assert not (place / "logs").exists()


def test_reward_may_be_json(tmp_path):
    assert (
        score(harbor(tmp_path, "a", """echo '{"reward": 0.75, "style": 1}' > /logs/verifier/reward.json"""), "") == 0.75
    )
    assert score(harbor(tmp_path, "b", """echo '{"only": 0.5}' > /logs/verifier/reward.json"""), "") == 0.5


def test_tests_may_read_the_answer(tmp_path):
    assert score(harbor(tmp_path, "a", 'grep -c yes "$SKILLSV_ANSWER" > /logs/verifier/reward.txt'), None, "yes") == 1.0


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ("echo broken >&2; exit 4", "wrote no reward (exit code 4): broken"),
        ("echo high > /logs/verifier/reward.txt", "cannot be read"),
        ("echo 7 > /logs/verifier/reward.txt", "returned 7.0 instead of a score"),
        ("""echo '{"a": 1, "b": 0}' > /logs/verifier/reward.json""", "none is called `reward`"),
        ("echo '{' > /logs/verifier/reward.json", "cannot be read"),
    ],
)
def test_tests_without_a_valid_reward_are_a_failure(tmp_path, test, sentence):
    with pytest.raises(VerifierFailure) as caught:
        score(harbor(tmp_path, "a", test), "")
    assert sentence in str(caught.value)


def test_digest_depends_on_tests_and_environment_and_not_on_the_path(tmp_path):
    one = harbor(tmp_path / "x")
    other = harbor(tmp_path / "y")
    digests = [load_tasks(one)[0].digest, load_tasks(other)[0].digest]
    assert digests[0] == digests[1]
    (other / "tests" / "expected.txt").write_text("changed")
    digests.append(load_tasks(other)[0].digest)
    (other / "environment" / "data" / "input.txt").write_text("changed")
    digests.append(load_tasks(other)[0].digest)
    assert len(set(digests)) == 3


def test_links_out_of_the_folder_are_left_out(tmp_path):
    place = harbor(tmp_path)
    (tmp_path / "secret").write_text("x")
    (place / "environment" / "link").symlink_to(tmp_path / "secret")
    (place / "environment" / "dir").symlink_to(tmp_path)
    (task,) = load_tasks(place)
    assert set(task.files) == {"data/input.txt"}


def test_task_without_tests_needs_a_verifier(tmp_path):
    place = harbor(tmp_path, test=None)
    with pytest.raises(TaskError, match=r"There is no tests/test\.sh"):
        load_tasks(place)
    assert load_tasks(place, verifier="python:check.py:score")[0].verifier == "python:check.py:score"


@pytest.mark.parametrize(
    ("file", "data", "sentence"),
    [
        ("task.toml", b"= 3", "This is not TOML"),
        ("task.toml", b"\xff", "This is not TOML"),
        ("instruction.md", b" \n", "The instruction is empty"),
        ("instruction.md", b"\xff", "not UTF-8"),
    ],
)
def test_invalid_file_is_named(tmp_path, file, data, sentence):
    place = harbor(tmp_path)
    (place / file).write_bytes(data)
    with pytest.raises(TaskError) as caught:
        load_tasks(place)
    assert sentence in str(caught.value)
    assert file in str(caught.value)


def test_what_a_container_would_bring_is_named(tmp_path):
    place = harbor(tmp_path)
    dockerfile = "FROM python:3.12-slim AS base\n# RUN nothing\nRUN apt-get update && \\\n    apt-get install -y jq\nRUN pip install pandas\nENV A=1\n"
    (place / "environment" / "Dockerfile").write_text(dockerfile)
    other = harbor(tmp_path, "other")
    (other / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    sentence = ignored_builds(load_tasks(tmp_path))
    assert sentence.startswith("2 Harbor tasks describe containers that are not built here")
    assert "base image python:3.12-slim, 2 RUN, 1 ENV, docker-compose.yaml, base image scratch" in sentence


def test_tasks_without_a_container_have_no_note(tmp_path):
    place = harbor(tmp_path)
    (place / "environment" / "Dockerfile").unlink()
    assert ignored_builds(load_tasks(place)) is None
