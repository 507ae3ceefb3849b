"""The definitions in one piece of code, and the syntax trees of tree-sitter from which some languages read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

CONSTANT = re.compile(r"[A-Z][A-Z0-9_]+")
"""CONSTANT_CASE: a name in this form is meant for use elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """Names with the line (0-based, in the code) that defines them.

    `names` are functions, classes and constants, which any unit may use. `variables` are for later blocks of the same
    section only. `modules` are the imported modules as written, with lines. `with_members` are the defined names that
    have members which a tag can name: `<Menu.Item>` needs such a `Menu`.
    """

    names: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    modules: tuple[tuple[str, int], ...] = ()
    with_members: frozenset[str] = frozenset()


def first_lines(code: str, names: set[str]) -> dict[str, int]:
    """The first line (0-based) on which each name appears as a word."""
    lines: dict[str, int] = {}
    for number, line in enumerate(code.split("\n")):
        for word in re.findall(r"\w+", line):
            if word in names:
                lines.setdefault(word, number)
    return lines


def parse(code: str, module: str, function: str = "language") -> Node:
    """The root of the syntax tree of some code; `module` is the package of the grammar."""
    return _parser(module, function).parse(code.encode("utf-8", errors="replace")).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in document order, without recursion."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.named_children))


def text_of(node: Node | None) -> str:
    """The source text of a node."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", errors="replace")


@cache
def _parser(module: str, function: str) -> Parser:
    from tree_sitter import Language, Parser  # loaded for the first block that needs a grammar

    return Parser(Language(getattr(import_module(module), function)()))
