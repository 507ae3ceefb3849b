import subprocess
import sys

import pytest

from skillsv.cli import run
from skillsv.cli.app import COMMANDS


def test_an_unknown_command_is_named_and_the_nearest_suggested(capsys):
    assert run(["compil"]) == 2
    assert "Did you mean 'compile'?" in capsys.readouterr().err


def test_an_unknown_flag_is_a_usage_error(capsys):
    assert run(["compile", "somewhere", "--colour", "red"]) == 2
    assert "--colour" in capsys.readouterr().err


def test_a_missing_argument_is_a_usage_error(capsys):
    assert run(["compile"]) == 2
    assert capsys.readouterr().out == ""


def test_a_missing_folder_gives_one_sentence_and_no_traceback(capsys, tmp_path):
    assert run(["compile", str(tmp_path / "nowhere")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "nowhere" in printed.err
    assert "Traceback" not in printed.err


def test_debug_shows_the_traceback(capsys, tmp_path):
    assert run(["compile", str(tmp_path / "nowhere"), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("command", [name for name, _, _ in COMMANDS])
def test_help_begins_with_an_example(command, capsys):
    assert run([command, "--help"]) == 0
    words = capsys.readouterr().out
    assert f"skillsv {command}" in words.split("╭", 1)[0].split("\n", 1)[1]


@pytest.mark.parametrize("arguments", [["--help"], ["compile", "examples/support-desk"]])
def test_start_up_leaves_heavy_parts_alone(arguments, request):
    program = (
        "import sys; from skillsv.cli import run; code = run(sys.argv[1:]);"
        "heavy = {'numpy', 'scipy', 'jinja2', 'anyio', 'bpe_openai', 'tree_sitter_bash'} & set(sys.modules);"
        "sys.exit(repr(sorted(heavy)) if heavy or code else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=request.config.rootpath, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
