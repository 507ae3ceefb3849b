"""An agent without a model: it obeys exactly the rules that it finds in the skill it is shown.

It sees the rendered skill, never the list of kept units. So a rule that is missing from the page, or a file that
is missing from the folder, is a rule that it does not follow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

ROUTE = re.compile(r"mentions (?P<words>[^.\n]*?) goes to queue `(?P<queue>\w+)`(?P<always>, whatever else)?")
GESTURE = re.compile(r"mentions (?P<words>[^.\n]*?) gets action `(?P<action>\w+)`")
RETURN_QUEUE = re.compile(r"with a return code goes to queue `(\w+)`")
RETURN_CODE = re.compile(r"`([A-Z]+)-\d+` is a return code")
WITHIN = re.compile(r"within the limit, take action `(\w+)`")
ABOVE = re.compile(r"above the limit, take action `(\w+)`")
WORD = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Rules:
    """What the agent understood of a skill."""

    routes: tuple[tuple[tuple[str, ...], str], ...] = ()
    overrides: tuple[tuple[tuple[str, ...], str], ...] = ()
    gestures: tuple[tuple[tuple[str, ...], str], ...] = ()
    return_code: str | None = None
    return_queue: str | None = None
    limits: Mapping[str, int] | None = None
    within: str | None = None
    above: str | None = None
    greetings: Mapping[str, str] | None = None


async def answer(skill: Any, task: Any, replicate: int) -> str:
    """Answer one ticket: queue, action and greeting."""
    del replicate  # a rule follower answers the same every time
    rules = understand(skill.text, tuple(sorted(skill.files.items()))) if skill else Rules()
    ticket, facts = task.input, task.metadata
    return f"{queue(rules, ticket)} / {action(rules, ticket, facts)} / {greeting(rules, facts)}"


@lru_cache(maxsize=4096)
def understand(text: str, files: tuple[tuple[str, bytes], ...]) -> Rules:
    """Read the rules off the page and out of the files that the page names."""
    named = {path: data.decode() for path, data in files if path in text}
    routes = [(words(match), match["queue"], match["always"]) for match in ROUTE.finditer(text)]
    return Rules(
        routes=tuple((about, queue) for about, queue, always in routes if not always),
        overrides=tuple((about, queue) for about, queue, always in routes if always),
        gestures=tuple((words(match), match["action"]) for match in GESTURE.finditer(text)),
        return_code=first(RETURN_CODE, text),
        return_queue=first(RETURN_QUEUE, text),
        limits=limits(named.get("scripts/refund_limit.py")),
        within=first(WITHIN, text),
        above=first(ABOVE, text),
        greetings=greetings(named.get("references/greetings.md")),
    )


def queue(rules: Rules, ticket: str) -> str:
    """The queue of a ticket."""
    for about, name in rules.overrides:
        if mentions(ticket, about):
            return name
    if rules.return_code and rules.return_queue and f"{rules.return_code}-" in ticket:
        return rules.return_queue
    return next((name for about, name in rules.routes if mentions(ticket, about)), "general")


def action(rules: Rules, ticket: str, facts: Mapping[str, Any]) -> str:
    """The action for a ticket."""
    if rules.limits and "amount" in facts:
        fits = facts["amount"] <= rules.limits[facts["tier"]]
        return (rules.within if fits else rules.above) or "reply"
    return next((name for about, name in rules.gestures if mentions(ticket, about)), "reply")


def greeting(rules: Rules, facts: Mapping[str, Any]) -> str:
    """The greeting: English unless the skill says better."""
    return (rules.greetings or {}).get(facts.get("language", "en"), "Hello")


def limits(source: str | None) -> Mapping[str, int] | None:
    """The table of limits in the script, read without running it."""
    for node in ast.parse(source).body if source else []:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "LIMITS":
            table: Mapping[str, int] = ast.literal_eval(node.value)
            return table
    return None


def greetings(page: str | None) -> Mapping[str, str] | None:
    """The table of greetings in the reference."""
    rows = [line.strip("| ").split(" | ") for line in (page or "").splitlines() if line.startswith("| ")]
    return dict(row for row in rows if len(row) == 2) or None


def words(match: re.Match[str]) -> tuple[str, ...]:
    """The quoted words of a rule."""
    return tuple(WORD.findall(match["words"]))


def mentions(ticket: str, about: tuple[str, ...]) -> bool:
    """Whether the ticket mentions one of the words."""
    return any(word in ticket for word in about)


def first(pattern: re.Pattern[str], text: str) -> str | None:
    """The first group of the first match."""
    match = pattern.search(text)
    return match[1] if match else None
