"""`skillsv init`: writes tasks to fill in, a verifier, settings and an agent for a skill."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.errors import OutputError, SettingsError

if TYPE_CHECKING:
    from skillsv.api.starter import StarterOptions


def init(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Write here [the folder that holds the skill].")
    ] = None,
    agent: Annotated[
        str | None, Parameter(help="shell or python for a program to fill in, or command:..., model:... [shell].")
    ] = None,
    verifier: Annotated[
        str | None, Parameter(help="contains, exact, numeric, judge, ..., or function for one of your own [contains].")
    ] = None,
    tasks: Annotated[int | None, Parameter(help="Tasks to write [40].")] = None,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Ask nothing; take the defaults.")] = False,
) -> int:
    """skillsv init my-skill

    Write a beginning: tasks to fill in, spread over the sections of the skill, a verifier, skillsv.toml and an agent,
    and say the command that comes next. On a terminal it asks what no flag says. Nothing that exists is overwritten.
    """
    from skillsv.api.skill import compile as compile_skill
    from skillsv.api.starter import make_starter
    from skillsv.cli.printing import deliver

    compiled = compile_skill(skill)
    options = _options(agent, verifier, tasks, yes=yes)
    folder = output or skill.absolute().parent
    if folder.resolve().is_relative_to(skill.resolve()):
        raise OutputError("This is inside the skill.", where=str(folder), hint="Choose another folder with -o.")
    starter = make_starter(compiled, options, folder)
    lines = _write(folder, dict(starter.files))
    lines += [
        f"Fill in {folder / 'tasks.jsonl'}, then look at the cost, and value the skill:",
        f"  {starter.command('plan', skill, folder)}",
        f"  {starter.command('value', skill, folder)}",
    ]
    deliver("".join(f"{line}\n" for line in lines), None)
    return 0


def _options(agent: str | None, verifier: str | None, tasks: int | None, *, yes: bool) -> StarterOptions:
    """The flags, and the answers to questions about the others."""
    from skillsv.api.starter import StarterOptions

    defaults = StarterOptions()
    asked = not yes and None in (agent, verifier, tasks)
    if asked and not sys.stdin.isatty():
        raise SettingsError(
            "nobody is there to answer questions.", hint="Add --yes, or give --agent, --verifier and --tasks."
        )
    if asked:
        agent = agent or _ask("Which agent? shell, python, or its specification", defaults.agent)
        verifier = verifier or _ask("How is an answer checked? contains, exact, numeric, judge, function", "contains")
        tasks = tasks or _number(_ask("How many tasks?", str(defaults.tasks)))
    return StarterOptions(
        agent=agent or defaults.agent, verifier=verifier or defaults.verifier, tasks=tasks or defaults.tasks
    )


def _ask(question: str, default: str) -> str:
    print(f"{question} [{default}]: ", end="", file=sys.stderr, flush=True)
    return input().strip() or default


def _number(text: str) -> int:
    if not text.isdecimal():
        raise SettingsError(f"'{text}' is no number of tasks.", hint="Give a number such as 40.")
    return int(text)


def _write(folder: Path, files: dict[str, str]) -> list[str]:
    """Write the files that are not there yet. Returns what was done, in words."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, text in files.items():
        path = folder / name
        if path.exists() or path.is_symlink():
            lines.append(f"Kept {path}: it was there already.")
            continue
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)
        lines.append(f"Wrote {path}.")
    return lines
