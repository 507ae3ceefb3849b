"""Finds the command, runs it, and turns errors into one clear message and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from skillsv.cli.plain_characters import use_plain_characters
from skillsv.errors import NoDifference, SkillSVError
from skillsv.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import cyclopts

USAGE_ERROR = 2
"""Exit code of a command line that cannot be used."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

EXAMPLE_LINES = 4
"""Lines of an example's text that an error shows."""

EXAMPLE_WIDTH = 200
"""Characters of a line of an example's text that an error shows."""

GC_THRESHOLDS = (50_000, 20, 50)
"""New objects until Python looks for cycles among them, and such looks until older objects are included.

A run has thousands of coalitions of up to thousands of units and few cycles. With Python's thresholds, a tenth of the
CPU time of a large estimate went into looking through the coalitions."""

HELP_FLAGS = frozenset({"--help", "-h"})

COMMANDS = (
    ("demo", "skillsv.cli.demo:demo", "See what each line of the example skill is worth."),
    ("shrink", "skillsv.cli.shrink:shrink", "Make a skill shorter, and prove that it is no worse."),
    ("init", "skillsv.cli.init:init", "Write tasks to fill in, a verifier, settings and an agent for a skill."),
    ("compile", "skillsv.cli.compile:compile_", "Map a skill: units, dependencies, hierarchy."),
    ("lint", "skillsv.cli.lint:lint", "List the defects of skills, without running anything."),
    ("orders", "skillsv.cli.orders:orders", "Sample feasible insertion orders."),
    ("render", "skillsv.cli.render:render", "Write one partial skill, as an agent would read it."),
    ("plan", "skillsv.cli.plan:plan", "Say what a valuation would cost."),
    ("value", "skillsv.cli.value:value", "Value every unit of a skill with your tasks and your agent."),
    ("matrix", "skillsv.cli.matrix:matrix", "Say which line of a skill helps which of several agents."),
    ("trigger", "skillsv.cli.trigger:trigger", "Say for which requests an agent opens a skill, and should."),
    ("status", "skillsv.cli.status:status", "Say how far a run is and what it has spent."),
    ("estimate", "skillsv.cli.estimate:estimate", "Estimate again from the records of a run, at no cost."),
    ("prune", "skillsv.cli.prune:prune", "Write a shorter skill, by the values of a run."),
    ("refine", "skillsv.cli.refine:refine", "Let an editor rewrite a skill, by the values of a run, and prove it."),
    ("confirm", "skillsv.cli.confirm:confirm", "Prove a shorter skill on tasks that no value has seen."),
    ("check", "skillsv.cli.check:check", "Check the skills that a change touches: lint, lengths, and no worse."),
    ("pairs", "skillsv.cli.pairs:pairs", "Find units that say the same, and units that need each other."),
    ("compare", "skillsv.cli.compare:compare", "Put two runs side by side, unit by unit."),
    ("report", "skillsv.cli.report:report", "Write the report page of a run."),
    ("view", "skillsv.cli.view:view", "Watch and compare all runs below a folder in a browser."),
    ("lsp", "skillsv.cli.lsp:lsp", "Show findings and values in an editor (Language Server Protocol)."),
    ("trust", "skillsv.cli.trust:trust", "Let a file that came with a skill name what is run and spent."),
    ("doctor", "skillsv.cli.doctor:doctor", "Try an agent with one tiny call, or serve a model on this machine."),
    ("bench", "skillsv.cli.bench:bench_app", "Run benchmarks with known or published answers."),
)
"""The table of commands: name, module and function, summary. A command is imported when it is called."""

COMMAND_NAMES = tuple(name for name, _, _ in COMMANDS)

ENTRY_POINTS = "skillsv.commands"
"""The group of entry points by which packages add commands."""


def find_added_command(name: str) -> EntryPoint | None:
    """The command that an installed package adds under this name."""
    from importlib.metadata import entry_points

    return next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)


def build_app(chosen: str = "") -> cyclopts.App:
    """The command tree, with lazily imported commands; the chosen one describes itself in full."""
    import cyclopts

    app = cyclopts.App(
        name="skillsv",
        help="skillsv demo\n\nWhat each line of an agent skill is worth.",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # `run` explains it
    )
    for name, target, summary in COMMANDS:
        app.command(target, name=name, help=None if name == chosen else summary)
    if _is_unknown(chosen) and (added := find_added_command(chosen)) is not None:
        app.command(added.value, name=chosen)
    return app


def overview() -> str:
    """The help of the program: an example and all commands. Written here, because it has to appear at once."""
    width = max(map(len, COMMAND_NAMES))
    lines = [f"  {name:<{width}}  {summary}" for name, _, summary in COMMANDS]
    return "\n".join(
        [
            "skillsv demo",
            "",
            "What each line of an agent skill is worth.",
            "",
            "Commands (skillsv COMMAND --help shows the flags of one):",
            *lines,
            "",
            "  --help     Show this.",
            "  --version  Show the version.",
            "  --debug    Show where an error came from, with any command.",
        ]
    )


def _is_unknown(word: str) -> bool:
    """Whether a word is the name of a command that is not in the table."""
    return bool(word) and not word.startswith("-") and word not in COMMAND_NAMES


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Tests call this directly."""
    use_plain_characters()
    words = [word for word in arguments if word != "--debug"]
    if words and _is_unknown(words[0]) and find_added_command(words[0]) is None:
        return _explain_unknown_command(words[0])
    if not words or words[0] in HELP_FLAGS:
        print(overview())
        return 0
    try:
        app = build_app(words[0])
        if not HELP_FLAGS.isdisjoint(words[1:]):
            from skillsv.cli.help_text import has_commands, write_command_help

            if not has_commands(app[words[0]]):
                print(write_command_help(app[words[0]]))
                return 0
        result = app(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()  # a full disk is an error here, and not while the interpreter exits
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - every error becomes a message here
        if len(words) < len(arguments):
            import traceback

            _print_error("".join(traceback.format_exception(error)).rstrip())
        return next(handle(error) for kind, handle in error_handlers() if isinstance(error, kind))
    return result if isinstance(result, int) else 0


def main() -> None:
    """Entry point of the `skillsv` program."""
    # The matrices are many and small: with several threads, linear algebra takes three times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(*GC_THRESHOLDS)
    sys.exit(run(sys.argv[1:]))


def _explain_unknown_command(word: str) -> int:
    import difflib

    close = difflib.get_close_matches(word, COMMAND_NAMES, n=1)
    meant = f" Did you mean '{close[0]}'?" if close else ""
    _print_error(f"skillsv: there is no command '{word}'.{meant} The commands are: {', '.join(COMMAND_NAMES)}.")
    return USAGE_ERROR


def _explain_usage(error: BaseException) -> int:
    _print_error(f"skillsv: {' '.join(str(error).split())}")
    _print_error("Run 'skillsv --help', or 'skillsv COMMAND --help', to see what is there.")
    return USAGE_ERROR


def _explain_failure(error: BaseException) -> int:
    _print_error(f"skillsv: {error}")
    for example in error.examples if isinstance(error, NoDifference) else ():
        _print_example(example)
    return getattr(error, "exit_code", SkillSVError.exit_code)


def _print_example(texts: Mapping[str, str]) -> None:
    """Print input and answers of one task: a few lines of each text, safe for a terminal."""
    from skillsv.report.escape import clip_lines, escape_line, escape_text

    for label, text in texts.items():
        _print_error(f"  {escape_line(label)}:")
        shown = clip_lines(escape_text(text.strip()) or "(nothing)", width=EXAMPLE_WIDTH, lines=EXAMPLE_LINES)
        _print_error("\n".join(f"    {line}" for line in shown.split("\n")))


def _explain_interrupt(_: BaseException) -> int:
    _print_error("Interrupted. What had finished is saved; the same command resumes.")
    return INTERRUPTED


def _ignore_closed_pipe(_: BaseException) -> int:
    """The program that reads stdout (head, less) has ended: not an error."""
    _silence_stdout()
    return 0


def _explain_system_error(error: BaseException) -> int:
    _silence_stdout()
    place = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
    _print_error(f"skillsv: {place}{getattr(error, 'strerror', None) or error}.")
    return SkillSVError.exit_code


def _explain_bug(error: BaseException) -> int:
    _print_error(f"skillsv: an error in skillsv itself: {type(error).__name__}: {error}")
    _print_error("Run the same command with --debug to see where, and please report it.")
    return SkillSVError.exit_code


def error_handlers() -> tuple[tuple[type[BaseException], Callable[[BaseException], int]], ...]:
    """The handler of each kind of error. The first one that fits is used."""
    import cyclopts

    return (
        (cyclopts.CycloptsError, _explain_usage),
        (SkillSVError, _explain_failure),
        (KeyboardInterrupt, _explain_interrupt),
        (BrokenPipeError, _ignore_closed_pipe),
        (OSError, _explain_system_error),
        (Exception, _explain_bug),
    )


def _silence_stdout() -> None:
    """Send stdout to nowhere, so that the interpreter does not report the same error again when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str) -> None:
    """Print a message on stderr. It may quote an agent or a file: keys are removed, control characters escaped."""
    from skillsv.cli.printing import say
    from skillsv.sandbox.redaction import redact

    say(redact(message))
