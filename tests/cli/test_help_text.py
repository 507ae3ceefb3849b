import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from cyclopts import App, Parameter

from skillsv.cli import run
from skillsv.cli.app import COMMAND_NAMES, build_app
from skillsv.cli.help_text import write_command_help
from skillsv.settings import SETTINGS


def cook(
    dish: Annotated[Path, Parameter(help="The dish.")],
    /,
    *,
    guests: Annotated[int, Parameter(name=["--guests", "-g"], help="How many come.")] = 4,
    heat: Annotated[Literal["low", "high"] | None, Parameter(help="How hot.")] = None,
    spices: Annotated[tuple[str, ...], Parameter(negative=(), help="What goes in.")] = (),
    salted: Annotated[bool, Parameter(negative="--plain")] = False,
    a_flag_with_a_very_long_name: Annotated[float | None, Parameter(help="A number.")] = None,
) -> None:
    """skillsv cook soup

    Cook a dish,
    and serve it.
    """


def test_the_help_of_a_command_names_places_flags_kinds_and_defaults(monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    app = App()
    app.command(cook)
    assert write_command_help(app["cook"]) == (
        "Usage: skillsv cook DISH [FLAGS]\n"
        "\n"
        "skillsv cook soup\n"
        "\n"
        "Cook a dish, and serve it.\n"
        "\n"
        "Arguments:\n"
        "  DISH                        The dish. [required]\n"
        "\n"
        "Flags:\n"
        "  --guests, -g N              How many come. [default: 4]\n"
        "  --heat low|high             How hot.\n"
        "  --spices TEXT ...           What goes in.\n"
        "  --salted, --plain\n"
        "  --a-flag-with-a-very-long-name NUMBER\n"
        "                              A number."
    )


@pytest.mark.parametrize("columns", ["60", "80", "300"])
@pytest.mark.parametrize("name", [name for name in COMMAND_NAMES if name != "bench"])
def test_no_line_is_wider_than_the_terminal(name, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = write_command_help(build_app(name)[name]).splitlines()
    assert all(len(line) <= min(int(columns), 100) for line in lines), max(lines, key=len)


def test_the_help_of_value_has_every_flag_of_its_settings(capsys):
    assert run(["value", "--help"]) == 0
    printed = capsys.readouterr().out
    flags = [info.flag for info in SETTINGS.values() if info.group in {"compiler", "estimator", "agent", "budget"}]
    assert flags
    assert [flag for flag in flags if f"  {flag}" not in printed] == []


def test_help_is_given_wherever_it_is_asked_for(capsys):
    assert run(["value", "my-skill", "--tasks", "t.jsonl", "-h"]) == 0
    assert capsys.readouterr().out.startswith("Usage: skillsv value SKILL [FLAGS]")


def test_a_command_with_commands_of_its_own_lists_them(capsys):
    assert run(["bench", "--help"]) == 0
    assert "estimators" in capsys.readouterr().out
    assert run(["bench", "estimators", "--help"]) == 0
    assert "--games" in capsys.readouterr().out


def test_help_needs_no_module_that_draws_panels():
    program = (
        "import sys; from skillsv.cli import run; run(['value', '--help']); sys.exit('rich.console' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
