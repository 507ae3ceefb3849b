"""The result of looking at one piece of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from tree_sitter import Language, Node, Parser

CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
"""CONSTANT_CASE: such a name is meant to be known elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """Names with the line (0-based, in the code) that defines them.

    `names` are meant for others: functions, classes, constants. `variables` serve only the blocks right after.
    `modules` are what the code imports, as written, with lines.
    """

    names: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    modules: tuple[tuple[str, int], ...] = ()


def first_lines(code: str, names: set[str]) -> dict[str, int]:
    """The first line (0-based) on which each name stands as a word."""
    found: dict[str, int] = {}
    for number, line in enumerate(code.split("\n")):
        for word in re.findall(r"\w+", line):
            if word in names:
                found.setdefault(word, number)
    return found


# Tree-sitter grammars, loaded when first needed, and a walk that does not recurse.


@cache
def _parser(module: str, function: str) -> Parser:
    return Parser(Language(getattr(import_module(module), function)()))


def parse(code: str, module: str, function: str = "language") -> Node:
    """The root of the syntax tree of some code, by the grammar of a wheel."""
    return _parser(module, function).parse(code.encode("utf-8", errors="replace")).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in document order."""
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo.extend(reversed(here.named_children))


def text_of(node: Node | None) -> str:
    """The source text of a node."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", errors="replace")
