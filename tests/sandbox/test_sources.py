"""Files of command lines, and digests of files."""

from __future__ import annotations

import sys

import pytest

from skillsv.errors import SettingsError
from skillsv.sandbox.sources import command_line, command_sources, digest_files


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "agent.py").write_text("print(1)\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n")
    (tmp_path / "conf.toml").write_text("")
    return tmp_path


def test_words_that_name_files_become_absolute_paths(folder):
    words = command_line(f"{sys.executable} agent.py --config=conf.toml --name=agent 'two words' -v", folder)
    assert words == [
        sys.executable,
        str(folder / "agent.py"),
        f"--config={folder / 'conf.toml'}",
        "--name=agent",
        "two words",
        "-v",
    ]


@pytest.mark.parametrize("text", ["./run.sh", "run.sh"])
def test_program_in_the_folder_is_found(folder, text):
    assert command_line(text, folder) == [str(folder / "run.sh")]


def test_program_on_the_path_is_found(folder):
    assert command_line("sh -c ls", folder)[0].endswith("/sh")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The command is empty"),
        ("   ", "The command is empty"),
        ("'open", "cannot be read: No closing quotation"),
        ("no-such-program-anywhere", "was not found"),
        ("./missing", "was not found"),
        ("./plain.sh", "may not be executed. Run `chmod +x ./plain.sh`."),
    ],
)
def test_command_that_cannot_run_is_refused(folder, text, sentence):
    with pytest.raises(SettingsError) as caught:
        command_line(text, folder)
    assert sentence in str(caught.value)


def test_very_long_word_is_not_taken_for_a_path(folder):
    assert command_line(f"sh {'x' * 10_000}", folder)[1] == "x" * 10_000


def test_sources_are_the_program_and_the_files_among_its_arguments(folder):
    words = command_line("./run.sh agent.py --config=conf.toml other", folder)
    assert {path.name for path in command_sources(words)} == {"run.sh", "agent.py", "conf.toml"}


def test_digest_depends_on_bytes_and_not_on_paths(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "renamed.py"
    elsewhere.write_bytes((folder / "agent.py").read_bytes())
    first = digest_files(["a"], [folder / "agent.py"])
    assert digest_files(["a"], [elsewhere]) == first
    assert digest_files(["b"], [elsewhere]) != first
    elsewhere.write_text("changed")
    assert digest_files(["a"], [elsewhere]) != first
    assert digest_files(["a", "b"], []) != digest_files(["ab"], [])
