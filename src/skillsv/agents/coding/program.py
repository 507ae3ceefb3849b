"""The types of a coding program: how it is launched, and what is read from its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from skillsv.model.rollout import Ending, Usage

JSON = Mapping[str, Any]
"""One event of a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model that the program uses. `base_url` is the server that the user named (None: the provider's own)."""

    name: str
    base_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a program is started: its arguments, environment variables, and files in its home (path to text).

    In arguments and values `{home}` stands for the path of its home.
    """

    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    home_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutput:
    """What a program printed. `skill_names` are the names by which it knows the skill; none for the bare agent.

    `results` are the texts of its result files, by their paths in its home.
    """

    stdout: str
    stderr: str
    code: int
    results: Mapping[str, str] = field(default_factory=dict)
    skill_names: frozenset[str] = frozenset()

    def events(self) -> Iterator[JSON]:
        """The JSON objects of stdout, one a line."""
        return json_lines(self.stdout)

    def opens_skill(self, tool: str, arguments: object) -> bool:
        """Whether a tool call opens the skill: by a tool for skills, or by the path of its main file."""
        text = msgspec.json.encode(arguments).decode()
        if any(f"{name}/SKILL.md" in text for name in self.skill_names):
            return True
        values = arguments.values() if isinstance(arguments, dict) else ()
        return tool.lower() in {"skill", "activate_skill"} and any(value in self.skill_names for value in values)


@dataclass(slots=True, kw_only=True)
class ProgramReport:
    """What the output of a program says. `answer` is None where it has no result at all.

    `error` is a message of the program or the provider, `status` the HTTP status where it is known. `steps` are lines
    for the transcript. `turns` counts requests to the model (None: not said).
    """

    answer: str | None = None
    usage: Usage = field(default_factory=Usage)
    turns: int | None = None
    opened: bool = False
    ending: Ending = Ending.ANSWERED
    error: str | None = None
    status: int | None = None
    steps: list[str] = field(default_factory=list)

    def add_call(self, tool: str, arguments: object) -> None:
        """Add a tool call to the transcript."""
        self.steps.append(f"[{tool}] {msgspec.json.encode(arguments).decode()}")

    def add_tokens(self, inputs: Iterable[object], outputs: Iterable[object], usd: object = None) -> None:
        """Add tokens and money; what is no number is not counted."""
        self.usage += Usage(
            input_tokens=sum(int(count) for count in inputs if isinstance(count, int)),
            output_tokens=sum(int(count) for count in outputs if isinstance(count, int)),
            usd=float(usd) if isinstance(usd, int | float) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingProgram:
    """One program that SkillSV knows.

    - `executable`: its name on PATH; `package`: how to install it; `least_version`: the oldest one that was tried.
    - `skill_dir`: where it looks for skills, in its working folder. None: it knows no skills, and the prompt holds
      SKILL.md.
    - `launch`: its arguments, variables and settings.
    - `prompt_file`: the file in its home that holds the prompt, as `encode_prompt` writes it. None: it is on stdin.
    - `result_files`: files in its home that `read` needs.
    - `read`: the report of one rollout.
    - `keys`: the variables with a key, of which one must be set, by the model; they are forwarded.
    - `url_variable`: the variable that names the server where `--base-url` is not given.
    - `example`: a model name for messages. `check_model`: why a name cannot be used.
    - `uses`: other programs that it starts, each with the reason.
    - `dropped_lines`: lines of its output that repeat others, and are not kept.
    - `prices`: whether it reports what each rollout costs, at the provider's own server.
    """

    name: str
    executable: str
    package: str
    least_version: tuple[int, ...]
    skill_dir: str | None
    launch: Callable[[ModelChoice], Launch]
    read: Callable[[ProgramOutput], ProgramReport]
    keys: Callable[[str], tuple[str, ...]]
    prompt_file: str | None = None
    encode_prompt: Callable[[str], str] = str
    result_files: tuple[str, ...] = ()
    url_variable: str | None = None
    example: str = "MODEL"
    check_model: Callable[[str], str | None] = lambda _: None
    uses: tuple[tuple[str, str], ...] = ()
    dropped_lines: bytes = b""
    prices: bool = False


def json_lines(text: str) -> Iterator[JSON]:
    """The JSON objects of a text, one a line. Other lines are ignored: programs print warnings between them."""
    for line in text.split("\n"):  # not splitlines: strings of JSON may hold other line ends
        if line.startswith("{"):
            try:
                event = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event


def get(value: object, *path: str) -> Any:
    """The value at a path of keys in nested JSON; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def items(value: object) -> list[Any]:
    """The list itself; empty where the value is none."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The text itself; empty where the value is none."""
    return value if isinstance(value, str) else ""
