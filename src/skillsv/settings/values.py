"""Values of settings as people write them: words, lists, points of a hundred. Readers convert them, checks refuse them.

A reader takes the text of a flag or file and the name of the setting. A check takes the converted value and the file it
stands in. Both raise SettingsError with what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator

SMALL_AMOUNT = 0.2
"""Points. An amount below this is more likely a share, such as 0.15 for 15 points, and gets a note."""

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:-]*")
"""The name of a container's image. It does not begin with a dash: the container program would read an option."""

_AGENT_COMMA = re.compile(r",\s*(?=[a-z][a-z-]*:|rules(?:,|$))")
"""A comma between two agents."""

RESERVED_PREFIX = "SKILLSV_"
"""Environment variables with this prefix tell an agent which skill and task it has."""


def flag_of(name: str) -> str:
    """The flag of a setting, unless the setting declares another one: `panel_a` is `--panel-a`."""
    return f"--{name.replace('_', '-')}"


# Readers.


def read_number_or_off(text: str, name: str) -> float | None:
    """A number; `off` and `none` are None."""
    if text.strip().lower() in {"off", "none"}:
        return None
    return _read_number(text, name, hint="Give a number such as 0.05, or 'off'.")


def read_size_or_share(text: str, name: str) -> float:
    """Digits are a number of tasks, everything else is a share of them."""
    if text.strip().isdigit():
        return int(text)
    return _read_number(text, name, hint="Give a number of tasks, or a share such as 0.5.")


def read_comma_list(text: str, _name: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def read_agent_list(text: str, _name: str) -> list[str]:
    """The agents of a comma list. A comma belongs to a command unless a new agent, `KIND:...`, begins behind it."""
    return [spec.strip() for spec in _AGENT_COMMA.split(text) if spec.strip()]


def read_resources(text: str, name: str) -> dict[str, float]:
    """Amounts of resources: `GPU=1,disk=0.5`."""
    return dict(_read_resource(word, name) for word in text.split(",") if word.strip())


def read_marker_pair(text: str, _name: str) -> tuple[str, str]:
    """One pair of marker lines: `START=END`."""
    start, separator, end = text.partition("=")
    if not (separator and start.strip() and end.strip()):
        raise SettingsError(f"the marker '{text}' is not a pair START=END.", hint="Write both lines, joined by '='.")
    return start.strip(), end.strip()


def _read_number(text: str, name: str, *, hint: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"'{text}' is not a {name.replace('_', ' ')}.", hint=hint) from None


def _read_resource(word: str, name: str) -> tuple[str, float]:
    resource, _, amount = word.partition("=")
    try:
        return resource.strip(), float(amount)
    except ValueError:
        hint = f"Write {flag_of(name)} NAME=AMOUNT, such as GPU=1."
        raise SettingsError(f"'{word.strip()}' is not an amount of a resource.", hint=hint) from None


# Checks.


def check_operators(operators: tuple[Operator, ...], where: str | None = None) -> None:
    """Raise SettingsError unless the operators are `delete`, or `delete` and `pad`."""
    if operators not in {(Operator.DELETE,), (Operator.DELETE, Operator.PAD)}:
        raise SettingsError(
            f"the operators '{','.join(operators)}' do not make a valuation.",
            where=where,
            hint="Say 'delete' for the net effect, or 'delete,pad' to split it into content and cost.",
        )


def check_forwarded(variables: tuple[str, ...], where: str | None = None) -> None:
    """Raise SettingsError where a variable is one that skillsv itself sets for an agent."""
    reserved = [name for name in variables if name.startswith(RESERVED_PREFIX)]
    if reserved:
        raise SettingsError(
            f"{reserved[0]} cannot be forwarded: it tells an agent which skill and task it has.",
            where=where,
            hint="Leave it out of --forward-env.",
        )


def check_sandbox(value: str, where: str | None) -> None:
    """Refuse a sandbox that does not exist."""
    name, colon, image = value.partition(":")
    plain = value in {"bubblewrap", "docker", "podman", "none"}
    if not plain and not (name in {"docker", "podman"} and colon and _IMAGE.fullmatch(image)):
        raise SettingsError(
            f"--sandbox {value} cannot be used.",
            where=where,
            hint="Choose among: bubblewrap, docker, docker:IMAGE, podman, podman:IMAGE, none.",
        )


def check_engine(engine: str, where: str | None = None) -> None:
    """Raise SettingsError where there is no such engine."""
    kind, colon, address = engine.partition(":")
    if (kind, colon) not in {("local", ""), ("ray", ""), ("ray", ":")} or (colon and not address.strip()):
        raise SettingsError(
            f"there is no engine '{engine}'.",
            where=where,
            hint="Say 'local', 'ray' for a cluster on this machine, or 'ray:HOST:PORT' for a running cluster.",
        )


# Amounts of score: people write points of a hundred, the program computes with shares in [0, 1].


def share_of_points(points: float, flag: str, *, ends: bool = False, where: str | None = None) -> float:
    """An amount of score in points of a hundred as a share: 2 is 0.02. No other function reads points.

    Raises SettingsError outside of 0 to 100; 0 and 100 themselves are allowed only with `ends`.
    """
    if not (0 <= points <= 100 if ends else 0 < points < 100):
        raise SettingsError(
            f"{flag} {points:g} is out of range: it is an amount of score, in points between 0 and 100.",
            where=where,
            hint=f"{flag} 2 is two points of a hundred.",
        )
    return round(points / 100, 12)  # 2.3 / 100 is not the same float as 0.023, which older manifests may hold


def small_amounts(shares: Mapping[str, float | None]) -> list[str]:
    """A note for every flag whose amount, given here as a share, is so small that the user perhaps meant a share."""
    points_of_flags = {flag: 100 * share for flag, share in shares.items() if share is not None}
    return [
        f"{flag} is {points:.4g} points of a hundred; did you mean {100 * points:.4g}?"
        for flag, points in points_of_flags.items()
        if 0 < points < SMALL_AMOUNT
    ]


def is_number(value: Any) -> bool:
    """Whether a value of a file or flag is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
