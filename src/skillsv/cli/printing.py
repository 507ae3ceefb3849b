"""Prints and writes results: text with colour only on a terminal, JSON, files, patches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skillsv.cli.plain_characters import PLAIN, use_plain_characters
from skillsv.errors import InputError, OutputError, SkillSVError
from skillsv.report.escape import escape_text

Line = tuple[tuple[str, str], ...]
"""The pieces of one line, each with its style on a terminal."""


def say(message: str) -> None:
    """Print a message on stderr. It may quote agents, tasks and names of files: control characters are escaped."""
    print(escape_text(message), file=sys.stderr)


def print_lines(lines: Iterable[Line]) -> None:
    """Print the lines on stdout, in colour on a terminal."""
    if not sys.stdout.isatty():
        deliver("".join("".join(text for text, _ in line) + "\n" for line in lines), None)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*line))


def json_text(value: Any) -> str:
    """JSON in plain ASCII: file names that are not valid Unicode are escaped and pass every pipe."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=True) + "\n"
    except RecursionError:
        # Only folders that nest hundreds of levels deep lead here; readers of JSON stop at such depths, too.
        raise OutputError("The result nests too deeply for JSON.", hint="Flatten the folders of the skill.") from None


@contextmanager
def errors_as_json(*, json: bool) -> Iterator[None]:
    """With `json`, print the document that an error carries on stdout. The error goes on."""
    try:
        yield
    except SkillSVError as error:
        if json and error.document is not None and not isinstance(error, InputError):
            deliver(json_text(error.document), None)
        raise


def refuse_inside(output: Path | None, skill: Path) -> None:
    """Raise OutputError where a result would be written into the skill it was made from."""
    if output is not None and output.resolve().is_relative_to(skill.resolve()):
        raise OutputError("This is inside the skill.", where=str(output), hint="Choose another file with -o.")


def refuse_run_file(output: Path) -> None:
    """Raise OutputError where a result would be written over a file of a run."""
    from skillsv.sandbox.run_files import belongs_to_run

    if belongs_to_run(output):
        raise OutputError("This belongs to a run.", where=str(output), hint="Choose another file with -o.")


def deliver(text: str, path: Path | None) -> None:
    """Write the text to the file, or to stdout, with control characters escaped, where none was given."""
    if path is None:
        encoding = sys.stdout.encoding or "utf-8"
        text = escape_text(text)
        use_plain_characters()
        sys.stdout.write(text.encode(encoding, PLAIN).decode(encoding))
        return
    refuse_run_file(path)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise OutputError(f"{reason}.", where=str(path), hint="Choose another file with -o.") from error


def styled_patch(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[Line]:
    """The lines of the patch, coloured by what they do, with control characters escaped."""
    from skillsv.report.edits import patch_lines

    for line in patch_lines(old, new):
        text = line.removesuffix("\n")
        yield ((escape_text(text), _style(text)),)


def _style(line: str) -> str:
    if line.startswith(("---", "+++")):
        return "bold"
    return {"+": "color(28)", "-": "color(160)", "@": "color(30)"}.get(line[:1], "")
