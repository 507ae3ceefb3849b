import subprocess
import sys
from pathlib import Path

import pytest

from skillsv.cli import run
from skillsv.cli.app import COMMANDS


def test_an_unknown_command_gets_the_nearest_name_as_suggestion(capsys):
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
    usage, _, rest = words.partition("\n")
    assert usage.startswith(f"Usage: skillsv {command}")
    assert f"skillsv {command}" in rest.split("\nFlags:")[0].split("╭")[0]


@pytest.mark.parametrize("arguments", [["--help"], ["compile", "examples/support-desk"]])
def test_start_up_does_not_import_heavy_modules(arguments, request):
    program = (
        "import sys; from skillsv.cli import run; code = run(sys.argv[1:]);"
        "heavy = {'numpy', 'scipy', 'jinja2', 'anyio', 'bpe_openai', 'bpe_openai._bindings', 'tree_sitter_bash'} & set(sys.modules);"
        "sys.exit(repr(sorted(heavy)) if heavy or code else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=request.config.rootpath, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["compile", "lint"])
def test_a_result_inside_the_skill_is_refused(command, tmp_path, capsys):
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("- One.\n")
    assert run([command, str(skill), "--json", "-o", str(skill / "SKILL.md")]) == 2
    assert "inside the skill" in capsys.readouterr().err
    assert (skill / "SKILL.md").read_text() == "- One.\n"


def test_a_full_stdout_gives_one_sentence_and_no_traceback(request):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "skillsv", "compile", "examples/support-desk", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=request.config.rootpath)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_internal_error_gives_a_sentence_and_no_traceback(monkeypatch, capsys, tmp_path):
    def broken(*_):
        raise ValueError("seven is not a colour")

    monkeypatch.setattr("skillsv.api.skill.compile_skill", broken)
    assert run(["compile", str(tmp_path)]) == 1
    printed = capsys.readouterr().err
    assert "seven is not a colour" in printed
    assert "Traceback" not in printed


def test_an_installed_package_adds_a_command(tmp_path, monkeypatch, capsys):
    metadata = tmp_path / "more_skillsv-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: more-skillsv\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[skillsv.commands]\ncount = more_skillsv:count\n")
    (tmp_path / "more_skillsv.py").write_text(
        "from skillsv.extend.commands import Json, deliver, json_text\n"
        "def count(words: list[str], *, json: Json = False) -> int:\n"
        '    """skillsv count a b"""\n'
        "    deliver(json_text({'words': len(words)}) if json else f'{len(words)} words\\n', None)\n"
        "    return 0\n"
    )
    assert run(["count", "a", "b"]) == 2
    assert "there is no command 'count'" in capsys.readouterr().err
    monkeypatch.syspath_prepend(tmp_path)
    assert run(["count", "a", "b"]) == 0
    assert capsys.readouterr().out == "2 words\n"
    assert run(["count", "a", "--json"]) == 0
    assert capsys.readouterr().out == '{\n  "words": 1\n}\n'
    assert run(["count", "--help"]) == 0
    assert "skillsv count a b" in capsys.readouterr().out


def test_ctrl_c_in_a_command_is_told_in_a_sentence(monkeypatch, capsys):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("skillsv.cli.demo.demo", interrupted)
    assert run(["demo"]) == 130
    assert "the same command resumes" in capsys.readouterr().err
