"""`skillsv trust`: records that the user trusts a file that came with a skill."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.consent import Question, agree
from skillsv.cli.printing import deliver
from skillsv.errors import SettingsError

Digests = Sequence[tuple[Path, str]]
"""Files, each with the SHA-256 of its bytes."""

QUESTION = Question(
    text="Trust it?",
    unanswered="nobody is there to trust this file.",
    unanswered_hint="Read it, then add --yes.",
    declined="nothing was trusted.",
    declined_hint="Answer y to trust the file, or give --yes.",
)


def trust(
    file: Annotated[Path, Parameter(help="A skillsv.toml, a task file or folder, or a Python file with tasks.")],
    /,
    *,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Trust without asking.")] = False,
) -> int:
    """skillsv trust skillsv.toml

    Let a file that came with a skill name what is run and spent. Shows what it names and asks. The file's digest is
    kept in your configuration folder: once the file changes, it is untrusted again.
    """
    from skillsv.trust import trust_files

    if not file.exists():
        raise SettingsError("there is no such file.", where=str(file), hint="Name a skillsv.toml or a task file.")
    lines, digests = _list_settings(file) if file.suffix == ".toml" else _list_code(file)
    if not lines:
        deliver(f"Nothing to trust: {file} names nothing that runs, forwards, spends or consents.\n", None)
        return 0
    agree([f"{file} names:", *(f"  {line}" for line in lines)], yes=yes, question=QUESTION)
    place = trust_files(digests)
    deliver(f"Trusted until it changes: {', '.join(str(path) for path, _ in digests)}. Kept in {place}.\n", None)
    return 0


def _list_settings(file: Path) -> tuple[list[str], Digests]:
    """The guarded settings of a file, and its digest."""
    from skillsv.settings import guarded_settings

    settings, digest = guarded_settings(file)
    return [f"{name.replace('_', '-')} = {value!r}" for name, value in settings.items()], [(file, digest)]


def _list_code(path: Path) -> tuple[list[str], Digests]:
    """The verifiers of tasks that run code or call a model, the files of the skill behind them, and their digests."""
    from skillsv.sandbox.sources import python_sources
    from skillsv.tasks import read_tasks, tasks_file, tasks_folder
    from skillsv.tasks.untrusted import code_files
    from skillsv.tasks.verifiers.table import runs_code
    from skillsv.trust import file_digest

    if path.suffix == ".py":
        specs, files = [], python_sources(path.resolve())
    else:
        specs = list(dict.fromkeys(task.verifier for task in read_tasks(path) if runs_code(task.verifier)))
        files = code_files(tasks_file(path), specs, tasks_folder(path)) if specs else []
    digests = [(file, file_digest(file)) for file in files]
    return [*(f"verifier {spec!r}" for spec in specs), *(f"file {str(file)!r}" for file in files)], digests
