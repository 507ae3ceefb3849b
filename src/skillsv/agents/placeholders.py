"""The words `{input}` and `{skill}` in the command of an agent: the task's input, and the folder of the skill.

The input of a task is untrusted: it becomes one whole argument, never a part of a program text that a shell or another
interpreter reads, and never an option.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.rollout import FailureKind

INPUT = "{input}"
"""Stands for the task's input."""

SKILL = "{skill}"
"""Stands for the folder of the skill."""

_OPTION_WITH_INPUT = re.compile(r"--?[\w.-]+=\{input\}")
"""The input as the value of an option, in one word."""

_OPTION = re.compile(r"--?[\w.-]*\w")
"""An option whose value is the next word, as far as its form shows."""

_INTERPRETER = re.compile(r"(ba|da|k|z|fi)?sh|python[\d.]*|node|deno|bun|perl|ruby|env|eval")
"""Programs that execute an argument."""

_PROGRAM_OPTIONS = re.compile(r"-[a-zA-Z]*[ceprS]|--eval|--print")
"""Options of interpreters after which a program text follows."""


def check_placeholders(argv: Sequence[str]) -> None:
    """Refuse an input that would be a part of a longer word, or the text of a program. Raises SettingsError."""
    for position, word in enumerate(argv):
        if INPUT not in word:
            continue
        if position == 0 or (word != INPUT and not _OPTION_WITH_INPUT.fullmatch(word)):
            raise SettingsError(
                f"{INPUT} must be a word of its own in the command, or --option={INPUT}: `{word}` would mix the input "
                "of a task with other text.",
                hint=f"For a shell, write: command:bash -c 'my-agent \"$1\"' bash {INPUT}. Or use --stdin text.",
            )
        interpreter = Path(argv[0]).name
        if _INTERPRETER.fullmatch(interpreter) and _PROGRAM_OPTIONS.fullmatch(argv[position - 1]):
            raise SettingsError(
                f"`{interpreter} {argv[position - 1]} {INPUT}` would execute the input of a task.",
                hint=f"Pass it as an argument of your program, after its text: bash -c 'my-agent \"$1\"' bash {INPUT}.",
            )


def takes_input(argv: Sequence[str]) -> bool:
    """Whether the command receives the task's input as an argument."""
    return any(INPUT in word for word in argv)


def fill_placeholders(argv: Sequence[str], text: str, skill: Path | None) -> list[str]:
    """The command of one rollout. For the bare agent, words with `{skill}` are left out, with the option before them.

    Raises AgentFailure where the input cannot be an argument.
    """
    words: list[str] = []
    for position, word in enumerate(argv):
        if INPUT in word:
            _check_input(text, is_option=word == INPUT and "--" not in argv[:position])
            words.append(word.replace(INPUT, text))
        elif SKILL not in word:
            words.append(word)
        elif skill is not None:
            words.append(word.replace(SKILL, str(skill)))
        elif not word.startswith("-") and _OPTION.fullmatch(argv[position - 1]):
            words.pop()
    return words


def _check_input(text: str, *, is_option: bool) -> None:
    if "\0" in text:
        raise AgentFailure("the task's input has a zero byte: no argument can hold it.", kind=FailureKind.BAD_REQUEST)
    if is_option and text.startswith("-"):
        raise AgentFailure(
            f"the task's input begins with `-`, and the program would read it as an option: write `-- {INPUT}` or "
            "--stdin text.",
            kind=FailureKind.BAD_REQUEST,
        )
