"""Finds the command, runs it, and turns trouble into one clear message and an exit code."""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import cyclopts

from skillsv import __version__
from skillsv.errors import NoDifference, SkillSVError

USAGE_ERROR = 2
INTERRUPTED = 130

EXAMPLE_LINES = 4
"""Lines of an example's text that an error shows."""

EXAMPLE_WIDTH = 200
"""Characters of a line of an example's text that an error shows."""

COMMANDS = (
    ("demo", "skillsv.cli.demo:demo", "See what each line of the example skill is worth."),
    ("compile", "skillsv.cli.compile:compile_", "Map a skill: units, dependencies, hierarchy."),
    ("lint", "skillsv.cli.lint:lint", "List the defects of skills, without running anything."),
    ("orders", "skillsv.cli.orders:orders", "Sample feasible insertion orders."),
    ("render", "skillsv.cli.render:render", "Write one partial skill, as an agent would read it."),
    ("plan", "skillsv.cli.plan:plan", "Say what a valuation would cost."),
    ("value", "skillsv.cli.value:value", "Value every unit of a skill with your tasks and your agent."),
    ("status", "skillsv.cli.status:status", "Say how far a run is and what it has spent."),
    ("estimate", "skillsv.cli.estimate:estimate", "Estimate again from the records of a run, at no cost."),
    ("prune", "skillsv.cli.prune:prune", "Write a shorter skill, by the values of a run."),
    ("refine", "skillsv.cli.refine:refine", "Let an editor rewrite a skill, by the values of a run, and prove it."),
    ("confirm", "skillsv.cli.confirm:confirm", "Prove a shorter skill on tasks that no value has seen."),
    ("pairs", "skillsv.cli.pairs:pairs", "Find units that say the same, and units that need each other."),
    ("compare", "skillsv.cli.compare:compare", "Put two runs side by side, unit by unit."),
    ("report", "skillsv.cli.report:report", "Write the report page of a run."),
    ("trust", "skillsv.cli.trust:trust", "Let a file that came with a skill name what is run and spent."),
    ("doctor", "skillsv.cli.doctor:doctor", "Try an agent with one tiny call, or serve a model on this machine."),
    ("bench", "skillsv.cli.bench:bench_app", "Run benchmarks with known or published answers."),
)
"""The table of commands: name, where it lives, what it does. Nothing is imported until it is called."""

COMMAND_NAMES = tuple(name for name, _, _ in COMMANDS)


def build_app(chosen: str = "") -> cyclopts.App:
    """The command tree, with lazily imported commands; the chosen one describes itself in full."""
    app = cyclopts.App(
        name="skillsv",
        help="skillsv demo\n\nWhat each line of an agent skill is worth.",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
    )
    for name, target, summary in COMMANDS:
        app.command(target, name=name, help=None if name == chosen else summary)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Tests call this directly."""
    words = [word for word in arguments if word != "--debug"]
    if words and not words[0].startswith("-") and words[0] not in COMMAND_NAMES:
        return _unknown_command(words[0])
    try:
        result = build_app(*words[:1])(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()  # a full disk shows here, not in the interpreter's last breath
    except (Exception, KeyboardInterrupt) as trouble:  # noqa: BLE001 - the edge of the program: trouble becomes words
        if len(words) < len(arguments):
            traceback.print_exception(trouble)
        return next(explain(trouble) for kind, explain in EXPLANATIONS if isinstance(trouble, kind))
    return result if isinstance(result, int) else 0


def main() -> None:
    """Entry point of the `skillsv` program."""
    # Our matrices are many and small: threads of the linear algebra get in each other's way (three times slower here).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(run(sys.argv[1:]))


def _unknown_command(word: str) -> int:
    close = difflib.get_close_matches(word, COMMAND_NAMES, n=1)
    meant = f" Did you mean '{close[0]}'?" if close else ""
    _say(f"skillsv: there is no command '{word}'.{meant} The commands are: {', '.join(COMMAND_NAMES)}.")
    return USAGE_ERROR


def _usage_error(trouble: BaseException) -> int:
    _say(f"skillsv: {' '.join(str(trouble).split())}")
    _say("Run 'skillsv --help', or 'skillsv COMMAND --help', to see what is there.")
    return USAGE_ERROR


def _failure(trouble: BaseException) -> int:
    from skillsv.report.escape import escape_text

    _say(escape_text(f"skillsv: {trouble}"))
    for example in trouble.examples if isinstance(trouble, NoDifference) else ():
        _show_example(example)
    return getattr(trouble, "exit_code", SkillSVError.exit_code)


def _show_example(texts: Mapping[str, str]) -> None:
    """What was asked and answered on one task: a few lines of each text, safe for a terminal."""
    from skillsv.report.escape import clip_lines, escape_line, escape_text

    for label, text in texts.items():
        _say(f"  {escape_line(label)}:")
        shown = clip_lines(escape_text(text.strip()) or "(nothing)", width=EXAMPLE_WIDTH, lines=EXAMPLE_LINES)
        _say("\n".join(f"    {line}" for line in shown.split("\n")))


def _interrupted(_: BaseException) -> int:
    _say("Interrupted. What had finished is saved; the same command resumes.")
    return INTERRUPTED


def _reader_gone(_: BaseException) -> int:
    """The reader (head, less) went away: not an error."""
    _silence_stdout()
    return 0


def _system_error(trouble: BaseException) -> int:
    _silence_stdout()
    place = f"{trouble.filename}: " if isinstance(trouble, OSError) and trouble.filename else ""
    _say(f"skillsv: {place}{getattr(trouble, 'strerror', None) or trouble}.")
    return SkillSVError.exit_code


def _mistake(trouble: BaseException) -> int:
    _say(f"skillsv: a mistake of skillsv itself: {type(trouble).__name__}: {trouble}")
    _say("Run the same command with --debug to see where, and please report it.")
    return SkillSVError.exit_code


EXPLANATIONS: tuple[tuple[type[BaseException], Callable[[BaseException], int]], ...] = (
    (cyclopts.CycloptsError, _usage_error),
    (SkillSVError, _failure),
    (KeyboardInterrupt, _interrupted),
    (BrokenPipeError, _reader_gone),
    (OSError, _system_error),
    (Exception, _mistake),
)
"""What is said about each kind of trouble, the first that fits."""


def _silence_stdout() -> None:
    """Keep the interpreter from complaining about stdout once more at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    print(message, file=sys.stderr)
